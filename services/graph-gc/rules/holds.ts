import { keptBecause } from '../../../packages/decision/kept-objects.ts';
import { kindName } from '../../../schemas/events/cluster-objects.ts';
import type { OwnershipCandidate, OwnershipReference } from '../../../schemas/events/ownership.ts';
import { hold, keep, type Outcome } from './outcome.ts';
import type { Owners } from './owners.ts';
import type { OwnershipSettings } from './settings.ts';

/** Why an object stays though upstream would change it, in profile `fleetgc`; `null` for no reason. */
export function keptByList({ object }: OwnershipCandidate, settings: OwnershipSettings): Outcome | null {
  if (settings.profile === 'kubernetes') return null;
  const because = keptBecause(object, settings.keep);
  return because && keep('S5', because);
}

/** How owners went that make nobody sure of it. */
const DOUBTFUL: readonly unknown[] = ['mass-relisted', 'kind-going'];

/** What makes it doubtful that owners are gone; nothing is done on them without approval (cluster S3). */
export function doubtfulOwners(
  { dangling }: Owners,
  { profile, approved }: OwnershipSettings,
  wentBack: boolean,
): Outcome | null {
  if (profile === 'kubernetes') return null;
  if (wentBack) return hold('S3', { why: 'the cluster was restored to an older state' });
  const doubtful = dangling.find(
    (owner) => DOUBTFUL.includes(owner.gone?.how) && !isApproved(owner, approved),
  );
  if (doubtful === undefined) return null;
  const why =
    doubtful.gone?.how === 'kind-going'
      ? 'the owner went while its definition was being deleted'
      : 'half of the kind of the owner went in one list';
  return hold('S3', { why, ownerKind: doubtful.kind, ownerUid: doubtful.uid });
}

const isApproved = (
  { uid, resolved }: OwnershipReference,
  { owners, kinds }: OwnershipSettings['approved'],
): boolean => owners.has(uid) || (resolved !== null && kinds.has(kindName(resolved)));

/** Why an object that is to go is held (cluster S1, S2). */
export function heldBack(
  { object, cascade }: OwnershipCandidate,
  { profile, limits, heldKinds, approved }: OwnershipSettings,
): Outcome | null {
  if (profile === 'kubernetes') return null;
  const kind = kindName(object);
  if (heldKinds.has(kind)) return hold('S2', { kind });
  if (cascade === null) return null;
  const { ownerUid, ownerKind, objects, ofKind } = cascade;
  if (approved.owners.has(ownerUid) || approved.kinds.has(ownerKind)) return null;
  if (objects > limits.cascade) return hold('S1', { ownerUid, ownerKind, objects, limit: limits.cascade });
  if (ofKind > limits.cascadeOfKind) return hold('S1', { ownerKind, ofKind, limit: limits.cascadeOfKind });
  return null;
}
