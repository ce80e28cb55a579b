import type { Reason as HoldReason } from '../../../packages/decision/approvals.ts';
import { keptBecause } from '../../../packages/decision/kept-objects.ts';
import { kindName } from '../../../schemas/events/cluster-objects.ts';
import type { Cascade, OwnershipCandidate, OwnershipReference } from '../../../schemas/events/ownership.ts';
import { hold, keep, type Outcome } from './outcome.ts';
import type { Owners } from './owners.ts';
import type { OwnershipSettings } from './settings.ts';

/** Why an object stays though upstream would change it, in profile `fleetgc`; `null` for no reason. */
export function keptByList({ object }: OwnershipCandidate, settings: OwnershipSettings): Outcome | null {
  if (settings.profile === 'kubernetes') return null;
  const because = keptBecause(object, settings.keep);
  return because && keep('S5', because);
}

export type Reason = HoldReason<Outcome>;

/** How owners went that make nobody sure of it. */
const DOUBTFUL: readonly unknown[] = ['mass-relisted', 'kind-going'];

/** What makes it doubtful that owners are gone; nothing is done on them without approval (cluster S3). */
export function doubts(
  { dangling }: Owners,
  candidate: OwnershipCandidate,
  settings: OwnershipSettings & { readonly wentBack: boolean },
): readonly Reason[] {
  if (settings.profile === 'kubernetes') return [];
  // It ends by itself, and nobody can know yet what is approved.
  if (settings.wentBack) return [{ outcome: hold('S3', WENT_BACK), approval: null }];
  return dangling
    .filter(({ gone }) => DOUBTFUL.includes(gone?.how))
    .map((owner) => doubtOf(owner, candidate, settings));
}

const WENT_BACK = { why: 'the cluster was restored to an older state' };

function doubtOf(
  owner: OwnershipReference,
  candidate: OwnershipCandidate,
  { approved }: OwnershipSettings,
): Reason {
  const cascade = candidate.cascades.find(({ ownerUid }) => ownerUid === owner.uid);
  const why =
    owner.gone?.how === 'kind-going'
      ? 'the owner went while its definition was being deleted'
      : 'half of the kind of the owner went in one list';
  const facts = cascade === undefined ? { ownerUid: owner.uid } : ownerFacts(cascade, candidate);
  return {
    outcome: hold('S3', { why, ...facts, ofKind: cascade?.ofKind ?? null }),
    approval: cascade === undefined ? null : approved.ofCascade(cascade),
  };
}

/** Why an object that is to go is held (cluster S1, S2). */
export function reasonsToHold(candidate: OwnershipCandidate, settings: OwnershipSettings): readonly Reason[] {
  if (settings.profile === 'kubernetes') return [];
  return [...ofHeldKind(candidate, settings), ...wideCascades(candidate, settings)];
}

function ofHeldKind(
  { object }: OwnershipCandidate,
  { heldKinds, approved }: OwnershipSettings,
): readonly Reason[] {
  const kind = kindName(object);
  if (!heldKinds.has(kind)) return [];
  return [{ outcome: hold('S2', { kind }), approval: approved.ofObject(kind, object.uid) }];
}

/** One approved owner lets nothing go that another one holds. */
const wideCascades = (candidate: OwnershipCandidate, settings: OwnershipSettings): readonly Reason[] =>
  candidate.cascades.flatMap((cascade) => {
    const outcome = tooWide(cascade, candidate, settings);
    return outcome === null ? [] : [{ outcome, approval: settings.approved.ofCascade(cascade) }];
  });

function tooWide(
  cascade: Cascade,
  candidate: OwnershipCandidate,
  { limits }: OwnershipSettings,
): Outcome | null {
  const { ownerKind, objects, ofKind } = cascade;
  if (objects > limits.cascade)
    return hold('S1', { ...ownerFacts(cascade, candidate), limit: limits.cascade });
  return ofKind > limits.cascadeOfKind
    ? hold('S1', { ownerKind, ofKind, limit: limits.cascadeOfKind })
    : null;
}

/** Where an owner lies is not in a reference: in none, or beside its dependent. */
function ownerFacts(
  { ownerUid, ownerKind, objects }: Cascade,
  { object, references }: OwnershipCandidate,
): Outcome['facts'] {
  const reference = references.find(({ uid }) => uid === ownerUid);
  return {
    ownerUid,
    ownerKind,
    ownerName: reference?.name ?? '',
    ownerNamespace: reference?.resolved?.namespaced === true ? object.namespace : '',
    objects,
  };
}
