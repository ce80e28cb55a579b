import { kindName } from '../../../../schemas/events/cluster-objects.ts';
import {
  type Cascade,
  LEAST_RESTORED,
  type OwnershipCandidate,
  type OwnershipReference,
} from '../../../../schemas/events/ownership.ts';
import { type Reason as HoldReason, ownerNamed } from '../../../decision/approvals.ts';
import { keptBecause } from '../../../decision/kept-objects.ts';
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
  const facts =
    cascade === undefined
      ? { ownerUid: owner.uid }
      : { ...ownerFacts(cascade, candidate), objects: cascade.objects };
  return {
    outcome: hold('S3', {
      why,
      ...facts,
      ofKind: cascade?.ofKind ?? null,
      ...(cascade !== undefined && approved.otherwiseNamed(cascade, candidate)),
    }),
    approval: cascade === undefined ? null : approved.ofCascade(cascade, candidate),
  };
}

/** Why an object that is to go is held (cluster S1, S2, S16). */
export function reasonsToHold(candidate: OwnershipCandidate, settings: OwnershipSettings): readonly Reason[] {
  if (settings.profile === 'kubernetes') return [];
  return [
    ...ofHeldKind(candidate, settings),
    ...wideCascades(candidate, settings),
    ...ofRestored(candidate, settings),
  ];
}

function ofHeldKind(
  { object }: OwnershipCandidate,
  { heldKinds, approved }: OwnershipSettings,
): readonly Reason[] {
  const kind = kindName(object);
  if (!heldKinds.has(kind)) return [];
  return [{ outcome: hold('S2', { kind }), approval: approved.ofObject(object) }];
}

/** One approved owner lets nothing go that another one holds. */
const wideCascades = (candidate: OwnershipCandidate, settings: OwnershipSettings): readonly Reason[] =>
  candidate.cascades.flatMap((cascade) => {
    const outcome = tooWide(cascade, candidate, settings);
    return outcome === null ? [] : [{ outcome, approval: settings.approved.ofCascade(cascade, candidate) }];
  });

function tooWide(
  cascade: Cascade,
  candidate: OwnershipCandidate,
  { limits, approved }: OwnershipSettings,
): Outcome | null {
  const { objects, ofKind } = cascade;
  const owner = { ...ownerFacts(cascade, candidate), ...approved.otherwiseNamed(cascade, candidate) };
  if (objects > limits.cascade) return hold('S1', { ...owner, objects, limit: limits.cascade });
  return ofKind > limits.cascadeOfKind ? hold('S1', { ...owner, ofKind, limit: limits.cascadeOfKind }) : null;
}

/** Many objects at once name owners that were never seen, and whose names others bear: a backup was restored (cluster S16). */
function ofRestored(candidate: OwnershipCandidate, { approved }: OwnershipSettings): readonly Reason[] {
  const { references, cascades, withNamesakes = 0 } = candidate;
  if (withNamesakes < LEAST_RESTORED) return [];
  return references.flatMap(({ uid, namesakeUid }) => {
    if (namesakeUid === undefined) return [];
    const cascade = cascades.find(({ ownerUid }) => ownerUid === uid);
    const facts =
      cascade === undefined
        ? { ownerUid: uid }
        : {
            ...ownerFacts(cascade, candidate),
            objects: cascade.objects,
            ofKind: cascade.ofKind,
            ...approved.otherwiseNamed(cascade, candidate),
          };
    return [
      {
        outcome: hold('S16', { why: NAMESAKE, ...facts, namesakeUid, withNamesakes }),
        approval: cascade === undefined ? null : approved.ofCascade(cascade, candidate),
      },
    ];
  });
}

const NAMESAKE = 'an owner of that name lives with another uid, as after a restore from a backup';

/** Where an owner lies is not in a reference: in none, or beside its dependent. One of which that is not known has no name here, and no approval. */
function ownerFacts({ ownerUid, ownerKind }: Cascade, candidate: OwnershipCandidate): Outcome['facts'] {
  const named = ownerNamed(ownerUid, candidate);
  return {
    ownerUid,
    ownerKind,
    ...(named !== null && { ownerName: named.name, ownerNamespace: named.namespace }),
  };
}
