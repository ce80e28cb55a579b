import type { ApiOwnerReference } from '../../../../packages/kube-api/metadata.ts';
import { hasPath } from '../../../../packages/kube-api/resources.ts';
import { groupOf } from '../../../../packages/owner-graph/kinds.ts';
import { DANGLING } from '../../../../packages/owner-graph/reference-states.ts';
import type { ServedKind } from '../../../../schemas/events/cluster-objects.ts';
import type { OwnerFound } from '../../../../schemas/events/cluster-result.ts';
import type { OwnershipReference, ReferenceState } from '../../../../schemas/events/ownership.ts';
import type { OwnerEvidence } from '../order.ts';
import { definitionName } from './kind-definitions.ts';
import type { Look } from './look.ts';
import type { Stop } from './stop.ts';
import type { Place } from './withdrawn-kinds.ts';

type Stated = Pick<OwnershipReference, 'state' | 'resolved' | 'gone'>;

export interface ConfirmedOwners {
  /** By the place of the reference. */
  readonly states: readonly ReferenceState[];
  readonly owners: readonly OwnerEvidence[];
  /** By their uids: why nobody knows that they went by themselves. */
  readonly doubts: ReadonlyMap<string, string>;
}

interface ConfirmedOwner {
  readonly state: ReferenceState;
  readonly found: OwnerFound | null;
  /** `null` where there is none. */
  readonly doubt: string | null;
}

/** A reference as its owner was found. Of one whose definition says nothing of how it went, it counts that it went with that (cluster S3). */
export const asConfirmed =
  ({ states, doubts }: ConfirmedOwners) =>
  (reference: OwnershipReference, position: number): OwnershipReference => {
    const { uid, gone } = reference;
    const isDoubted = doubts.has(uid);
    return {
      ...reference,
      state: states[position] ?? 'pending',
      gone: isDoubted ? { how: 'kind-going', orphaned: gone?.orphaned ?? false } : gone,
    };
  };

export async function confirmedOwners(
  look: Look,
  statedOf: (reference: ApiOwnerReference, position: number) => Stated,
): Promise<ConfirmedOwners | Stop> {
  const states: ReferenceState[] = [];
  const owners: OwnerEvidence[] = [];
  const doubts = new Map<string, string>();
  for (const [position, reference] of look.object.ownerReferences.entries()) {
    const confirmed = await confirmedOwner(look, reference, statedOf(reference, position));
    if ('kind' in confirmed) return confirmed;
    states.push(confirmed.state);
    if (confirmed.found !== null) owners.push({ uid: reference.uid, found: confirmed.found });
    if (confirmed.doubt !== null) doubts.set(reference.uid, confirmed.doubt);
  }
  return { states, owners, doubts };
}

/** An owner is asked for where the graph, or discovery, says that something follows from it. */
async function confirmedOwner(
  look: Look,
  reference: ApiOwnerReference,
  stated: Stated,
): Promise<ConfirmedOwner | Stop> {
  if (!matters(stated, look)) return { state: stated.state, found: null, doubt: null };
  const place = await placeOf(reference, stated, look);
  if (place === null) return withdrawnOwner(look, reference, stated);
  const found = await look.reads.owner(place, reference.uid);
  if (typeof found !== 'string') return found;
  const state = CONFIRMED[found](stated.state);
  const doubt = found === 'absent' && DANGLING.has(state) ? await doubtOf(place.kind, look) : null;
  return doubt === null || typeof doubt === 'string' ? { state, found, doubt } : doubt;
}

const UNRESOLVED: ConfirmedOwner = { state: 'unresolved', found: null, doubt: null };

/**
 * An owner whose kind is not served is absent only if the owner graph of this process saw it go and its kind withdrawn, and reads of
 * this moment prove the same. In profile `fleetgc` its dependents are held even so (cluster S17).
 */
async function withdrawnOwner(
  { kind: ofDependent, object, reads, index, profile }: Look,
  { apiVersion, kind, name, uid }: ApiOwnerReference,
  { state, resolved: owner }: Stated,
): Promise<ConfirmedOwner | Stop> {
  if (state !== 'gone' || owner === null || index?.isGoneWithItsKind(uid) !== true) return UNRESOLVED;
  if (owner.kind !== kind || owner.group !== groupOf(apiVersion)) return UNRESOLVED;
  const named = { namespace: owner.namespaced ? object.namespace : '', name };
  if ((!ofDependent.namespaced && owner.namespaced) || !hasPath(owner, named)) return UNRESOLVED;
  const objection = await reads.objectionToWithdrawn({ kind: owner, named });
  if (objection !== null) return objection;
  const doubt = `the owner is not there, and its definition ${definitionName(owner)} was deleted`;
  return { state, found: 'absent', doubt: profile === 'kubernetes' ? null : doubt };
}

/**
 * A definition takes all objects of its kind along, so absence while it is being deleted, or under one that is not older than the object,
 * does not say that the owner was deleted by itself. What is being deleted goes anyway.
 */
async function doubtOf(owner: ServedKind, look: Look): Promise<string | null | Stop> {
  if (look.profile === 'kubernetes' || look.object.deletionTimestamp !== null) return null;
  const definition = await look.reads.definitionOf(owner);
  if (definition === 'none') return null;
  if ('kind' in definition) return definition;
  const name = definitionName(owner);
  if (definition.isGoing) return `the owner is not there, and its definition ${name} is being deleted`;
  const createdAtMs = await look.createdAtMs();
  if (createdAtMs !== null && typeof createdAtMs !== 'number') return createdAtMs;
  const { createdAtMs: definedAtMs } = definition;
  return createdAtMs !== null && definedAtMs !== null && definedAtMs < createdAtMs
    ? null
    : `the owner is not there, and its definition ${name} (${timeWords(definedAtMs)}) is not older than the object (${timeWords(createdAtMs)}): it may have gone with an earlier one`;
}

const timeWords = (atMs: number | null): string =>
  atMs === null ? 'of an unknown time' : new Date(atMs).toISOString();

/** With these nothing is done, whatever the owner is. */
const UNDECIDED: ReadonlySet<ReferenceState> = new Set(['scope', 'unresolved', 'pending']);

/** An object that is being deleted waits for its dependents, whatever its owners are, unless one of them orphans. */
const matters = ({ state }: Stated, { object, index }: Look): boolean =>
  !UNDECIDED.has(state) && (object.deletionTimestamp === null || index === null || state === 'orphaning');

/** What was said of an owner, and what it was found to be. Where they do not agree, it stays open until they do. */
const CONFIRMED: Readonly<Record<OwnerFound, (said: ReferenceState) => ReferenceState>> = {
  absent: (said) => (DANGLING.has(said) ? said : 'pending'),
  waiting: () => 'waiting',
  orphaning: () => 'orphaning',
  there: () => 'held',
};

/** Where the owner is asked for; `null` where no such place can be. */
async function placeOf(
  { apiVersion, kind, name, uid }: ApiOwnerReference,
  { state }: Stated,
  { kind: ofDependent, object, reads, index }: Look,
): Promise<Place | null> {
  // An owner that orphans is left by all that list its uid, however they describe it (cluster E1).
  const known = state === 'orphaning' ? index?.object(uid) : undefined;
  if (known !== undefined) return { kind: known.kind, named: known };
  const owner = await reads.kinds.named(apiVersion, kind);
  if (owner === null || (!ofDependent.namespaced && owner.namespaced)) return null;
  const named = { namespace: owner.namespaced ? object.namespace : '', name };
  return hasPath(owner, named) ? { kind: owner, named } : null;
}
