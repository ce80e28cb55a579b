import type { ApiOwnerReference, ObjectMetadata } from '../../../packages/kube-api/metadata.ts';
import { hasPath } from '../../../packages/kube-api/resources.ts';
import { sameReferences, toldReference } from '../../../packages/owner-graph/graph-object.ts';
import { DANGLING } from '../../../packages/owner-graph/reference-states.ts';
import { kindName, type ServedKind } from '../../../schemas/events/cluster-objects.ts';
import type { OwnerFound } from '../../../schemas/events/cluster-result.ts';
import {
  MAX_CANDIDATE_REFERENCES,
  type OwnershipCandidate,
  type OwnershipReference,
  type ReferenceState,
} from '../../../schemas/events/ownership.ts';
import type { ClusterIndex } from '../ports.ts';
import type { LiveReads, Place } from './live-reads.ts';
import type { OrphanedOwners } from './orphaned-owners.ts';
import { refused, type Stop } from './stop.ts';

/** What an attempt goes by: the object as it is, and what is known of it beside. */
export interface Look {
  readonly kind: ServedKind;
  readonly object: ObjectMetadata;
  readonly reads: LiveReads;
  /** `null` where the process has no graph of the cluster. */
  readonly index: ClusterIndex | null;
  readonly orphaned: Pick<OrphanedOwners, 'has'>;
  /** How much this executor deleted in the past hour for an owner, and for all owners of a kind, or has in hand beside this object. */
  readonly removed: {
    readonly forOwner: (uid: string) => number;
    readonly forKind: (kind: string) => number;
  };
}

export interface OwnerEvidence {
  readonly uid: string;
  readonly found: OwnerFound;
}

export interface LiveFacts {
  /** More than one where the facts leave several things possible: what is to be done must follow from each. */
  readonly candidates: readonly OwnershipCandidate[];
  readonly owners: readonly OwnerEvidence[];
}

/** The object and its owners as the API server has them; nothing that an order says is among it. */
export async function liveFacts(look: Look): Promise<LiveFacts | Stop> {
  const { object, index } = look;
  if (object.ownerReferences.length > MAX_CANDIDATE_REFERENCES)
    return refused('kept-by-own-judgement', `it has ${object.ownerReferences.length} owner references`);
  return index === null ? factsAlone(look) : factsWithIndex(look, index);
}

type Stated = Pick<OwnershipReference, 'state' | 'resolved' | 'gone'>;

async function factsWithIndex(look: Look, index: ClusterIndex): Promise<LiveFacts | Stop> {
  const { object, kind } = look;
  const known = index.candidate(object.uid);
  if (known === null) return refused('kept-by-own-judgement', 'nothing calls for it, by the owner graph');
  const told = object.ownerReferences.map(toldReference);
  if (kindName(known.object) !== kindName(kind) || !sameReferences(known.references, told))
    return refused('changed', 'the owner graph has not followed yet what changed in it');
  const confirmed = await confirmedOwners(look, (reference, position) => {
    const stated = known.references[position];
    return stated ?? statedAs(reference, 'pending', null);
  });
  if ('kind' in confirmed) return confirmed;
  const references = known.references.map((reference, position) => ({
    ...reference,
    state: confirmed.states[position] ?? 'pending',
  }));
  const isInKept = known.object.keptBy === 'namespace' || (await keepsItsNamespace(look));
  if (typeof isInKept !== 'boolean') return isInKept;
  const candidate = {
    ...known,
    object: { ...objectFacts(look), keptBy: keptBy(object, isInKept) },
    references,
  };
  return { candidates: [candidate], owners: confirmed.owners };
}

/** Of an object that is to be deleted by an order. The graph may not know its namespace, or be behind. */
const keepsItsNamespace = async ({ kind, object, reads }: Look): Promise<boolean | Stop> =>
  kind.namespaced && object.deletionTimestamp === null ? reads.keepsNamespace(object.namespace) : false;

const keptBy = ({ keep }: ObjectMetadata, isInKept: boolean): OwnershipCandidate['object']['keptBy'] => {
  if (keep) return 'object';
  return isInKept ? 'namespace' : null;
};

const objectFacts = ({ kind, object }: Look): Omit<OwnershipCandidate['object'], 'keptBy'> => ({
  ...kind,
  namespace: kind.namespaced ? object.namespace : '',
  name: object.name,
  uid: object.uid,
  resourceVersion: object.resourceVersion,
  deletionTimestamp: object.deletionTimestamp,
  finalizers: [...object.finalizers],
});

const statedAs = (
  reference: ApiOwnerReference,
  state: ReferenceState,
  resolved: ServedKind | null,
): OwnershipReference => ({ ...toldReference(reference), state, resolved, gone: null });

/**
 * From reads alone. How an owner went that no order let go, whether its uid lies elsewhere, and who lists the object, nobody knows
 * then; of the last all that matters is tried.
 */
async function factsAlone(look: Look): Promise<LiveFacts | Stop> {
  const { object, kind, reads, orphaned } = look;
  const stated = new Map<ApiOwnerReference, OwnershipReference>();
  for (const reference of object.ownerReferences) {
    const owner = await reads.kinds.named(reference.apiVersion, reference.kind);
    const gone = orphaned.has(reference.uid) ? ORPHANED : null;
    stated.set(reference, { ...statedAs(reference, stateByKind(owner, kind), owner), gone });
  }
  const confirmed = await confirmedOwners(
    look,
    (reference) => stated.get(reference) ?? statedAs(reference, 'pending', null),
  );
  if ('kind' in confirmed) return confirmed;
  const isInKept = await keepsItsNamespace(look);
  if (typeof isInKept !== 'boolean') return isInKept;
  const references = object.ownerReferences.map((reference, position) => ({
    ...(stated.get(reference) ?? statedAs(reference, 'pending', null)),
    state: confirmed.states[position] ?? 'pending',
  }));
  const candidate = {
    object: { ...objectFacts(look), keptBy: keptBy(object, isInKept) },
    references,
    cascades: removedCascades(references, look),
  } as const;
  return {
    candidates: possibleDependents(object).map((dependents) => ({ ...candidate, dependents })),
    owners: confirmed.owners,
  };
}

const stateByKind = (owner: ServedKind | null, { namespaced }: ServedKind): ReferenceState => {
  if (owner === null) return 'unresolved';
  return !namespaced && owner.namespaced ? 'scope' : 'unseen';
};

const ORPHANED = { how: 'watched', orphaned: true } as const;

const NOBODY = { count: 0, blocking: 0, oneWaits: false } as const;
/** Somebody lists it, and holds it back; and that one waits itself. */
const SOMEBODY = [
  { count: 1, blocking: 1, oneWaits: false },
  { count: 1, blocking: 1, oneWaits: true },
] as const;

/**
 * Of an object that is being deleted and waits for dependents, that none is left is the decision's word: it was to go anyway, and
 * those that it leaves are spared where they are to be (`OrphanedOwners`).
 */
const possibleDependents = ({
  deletionTimestamp,
}: ObjectMetadata): readonly OwnershipCandidate['dependents'][] =>
  deletionTimestamp === null ? [NOBODY, ...SOMEBODY] : [NOBODY];

/** What went of a cascade stands for its width (cluster S1). */
const removedCascades = (
  references: readonly OwnershipReference[],
  { removed }: Look,
): OwnershipCandidate['cascades'] =>
  leavingOwners(references).map(({ uid, kind }) => ({
    ownerUid: uid,
    ownerKind: kind,
    objects: removed.forOwner(uid) + 1,
    ofKind: removed.forKind(kind) + 1,
    within: null,
  }));

/** Owners that let an object go, each with its kind as decisions name it. */
export const leavingOwners = (
  references: readonly OwnershipReference[],
): readonly { readonly uid: string; readonly kind: string }[] =>
  references
    .filter(({ state }) => state === 'waiting' || DANGLING.has(state))
    .map(({ uid, kind, resolved }) => ({ uid, kind: resolved === null ? kind : kindName(resolved) }));

interface ConfirmedOwners {
  /** By the place of the reference. */
  readonly states: readonly ReferenceState[];
  readonly owners: readonly OwnerEvidence[];
}

interface ConfirmedOwner {
  readonly state: ReferenceState;
  readonly found: OwnerFound | null;
}

async function confirmedOwners(
  look: Look,
  statedOf: (reference: ApiOwnerReference, position: number) => Stated,
): Promise<ConfirmedOwners | Stop> {
  const states: ReferenceState[] = [];
  const owners: OwnerEvidence[] = [];
  for (const [position, reference] of look.object.ownerReferences.entries()) {
    const confirmed = await confirmedOwner(look, reference, statedOf(reference, position));
    if ('kind' in confirmed) return confirmed;
    states.push(confirmed.state);
    if (confirmed.found !== null) owners.push({ uid: reference.uid, found: confirmed.found });
  }
  return { states, owners };
}

/** An owner is asked for where the graph, or discovery, says that something follows from it. */
async function confirmedOwner(
  look: Look,
  reference: ApiOwnerReference,
  stated: Stated,
): Promise<ConfirmedOwner | Stop> {
  if (!matters(stated, look)) return { state: stated.state, found: null };
  const place = await placeOf(reference, stated, look);
  if (place === null) return { state: 'unresolved', found: null };
  const found = await look.reads.owner(place, reference.uid);
  return typeof found === 'string' ? { state: CONFIRMED[found](stated.state), found } : found;
}

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
