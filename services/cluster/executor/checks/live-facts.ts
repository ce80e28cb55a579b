import type { ApiOwnerReference, ObjectMetadata } from '../../../../packages/kube-api/metadata.ts';
import { sameReferences, toldReference } from '../../../../packages/owner-graph/graph-object.ts';
import { DANGLING } from '../../../../packages/owner-graph/reference-states.ts';
import { kindName, type ServedKind } from '../../../../schemas/events/cluster-objects.ts';
import {
  MAX_CANDIDATE_REFERENCES,
  type OwnershipCandidate,
  type OwnershipReference,
  type ReferenceState,
} from '../../../../schemas/events/ownership.ts';
import type { OwnerEvidence } from '../order.ts';
import type { ClusterIndex } from '../ports.ts';
import { asConfirmed, confirmedOwners } from './confirmed-owners.ts';
import type { Look } from './look.ts';
import { refused, type Stop } from './stop.ts';

export interface LiveFacts {
  /** More than one where the facts leave several things possible: what is to be done must follow from each. */
  readonly candidates: readonly OwnershipCandidate[];
  readonly owners: readonly OwnerEvidence[];
  /** By the uids of owners: why nobody knows that they went by themselves (cluster S3). */
  readonly doubts: ReadonlyMap<string, string>;
}

/** The object and its owners as the API server has them; nothing that an order says is among it. */
export async function liveFacts(look: Look): Promise<LiveFacts | Stop> {
  const { object, index } = look;
  if (object.ownerReferences.length > MAX_CANDIDATE_REFERENCES)
    return refused('kept-by-own-judgement', `it has ${object.ownerReferences.length} owner references`);
  return index === null ? factsAlone(look) : factsWithIndex(look, index);
}

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
  const references = known.references.map(asConfirmed(confirmed));
  const isInKept = known.object.keptBy === 'namespace' || (await keepsItsNamespace(look));
  if (typeof isInKept !== 'boolean') return isInKept;
  const candidate = {
    ...known,
    object: { ...objectFacts(look), keptBy: keptBy(object, isInKept) },
    references,
  };
  return { candidates: [candidate], owners: confirmed.owners, doubts: confirmed.doubts };
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
  const references = object.ownerReferences
    .map((reference) => stated.get(reference) ?? statedAs(reference, 'pending', null))
    .map(asConfirmed(confirmed));
  const candidate = {
    object: { ...objectFacts(look), keptBy: keptBy(object, isInKept) },
    references,
    cascades: removedCascades(references, look),
  } as const;
  return {
    candidates: possibleDependents(object).map((dependents) => ({ ...candidate, dependents })),
    owners: confirmed.owners,
    doubts: confirmed.doubts,
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
