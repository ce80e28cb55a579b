import { candidacyOf } from '../../../../../packages/owner-graph/candidacy.ts';
import { CascadeWidths } from '../../../../../packages/owner-graph/cascade.ts';
import type { GraphObject } from '../../../../../packages/owner-graph/graph-object.ts';
import type { Kinds } from '../../../../../packages/owner-graph/kinds.ts';
import { apiVersionOf } from '../../../../../packages/owner-graph/kinds.ts';
import { OwnerIndex } from '../../../../../packages/owner-graph/owner-index.ts';
import type { Surroundings } from '../../../../../packages/owner-graph/reference-states.ts';
import type {
  GoneHow,
  OwnershipCandidate,
  OwnershipReference,
  ReferenceState,
} from '../../../../../schemas/events/ownership.ts';
import { candidateFacts } from '../../../../../services/cluster/agent/candidates.ts';
import type { ClusterIndex, ExpiryIndex, PodIndex } from '../../../../../services/cluster/executor/ports.ts';
import type { FakeApi, FakeReference, StoredObject } from './fake-api.ts';

/** An object that was there before, and how it went. */
export interface Ghost {
  readonly object: StoredObject;
  readonly how: GoneHow;
  readonly orphaned: boolean;
}

const graphObject = ({ ownerReferences, ...object }: StoredObject): GraphObject => ({
  ...object,
  references: ownerReferences.map((reference) => ({
    controller: false,
    blockOwnerDeletion: false,
    ...reference,
  })),
});

/** The owner graph of a cluster as it is at this moment, with what went before: what an agent knows that is never behind. */
export function truthOf(
  api: FakeApi,
  ghosts: readonly Ghost[] = [],
  wentBack = false,
  isWithdrawn: Surroundings['isWithdrawn'] = () => false,
): ClusterIndex {
  const index = new OwnerIndex();
  for (const { object, how, orphaned } of ghosts) {
    const last = orphaned
      ? { ...object, deletionTimestamp: '2026-11-25T00:00:00Z', finalizers: ['orphan'] }
      : object;
    index.put(graphObject(last));
    index.remove(object.uid, object.kind, how);
  }
  for (const object of api.objects) index.put(graphObject(object));
  const kept = new Set(
    api.objects.filter(({ kind, keep }) => kind.kind === 'Namespace' && keep).map(({ name }) => name),
  );
  const widths = new CascadeWidths(index);
  const candidate = (uid: string): OwnershipCandidate | null => {
    const object = index.get(uid);
    const candidacy =
      object &&
      candidacyOf(object, { graph: index, kinds: kindsOf(api), isSettled: () => true, isWithdrawn });
    return candidacy
      ? candidateFacts(candidacy, {
          widths,
          graph: index,
          namesakes: { of: () => undefined, objects: 0 },
          isKeptNamespace: (namespace) => kept.has(namespace),
        })
      : null;
  };
  const isGoneWithItsKind = (uid: string): boolean => {
    const gone = index.gone.get(uid);
    return gone?.how === 'kind-going' && gone.isDeletionSeen && isWithdrawn(gone.kind);
  };
  return {
    object: (uid) => index.get(uid),
    candidate,
    isGoneWithItsKind,
    wentBack,
    pods: NO_PODS,
    expiry: NOTHING_OVER,
  };
}

/** Of an agent that knows of nothing whose time is over. */
export const NOTHING_OVER: ExpiryIndex = { shareOf: () => null };

/** Of an agent that has read no pods. */
export const NO_PODS: PodIndex = { totals: () => null, missingForMs: () => 0 };

const kindsOf = ({ served }: FakeApi): Kinds => ({
  find: (apiVersion, kind) => {
    const found = served.find((each) => each.kind === kind && apiVersionOf(each) === apiVersion);
    return found === undefined
      ? { state: 'unresolved', because: 'not-served' }
      : { state: 'watched', served: found, synced: true };
  },
});

/**
 * The candidate as reads of it, its owners and its namespace tell it, which is all that an executor without the owner graph knows;
 * who lists it is told by what is there. `null` for an object that is not there.
 */
export function readTruthOf(api: FakeApi, uid: string): OwnershipCandidate | null {
  const object = api.byUid(uid);
  if (object === undefined) return null;
  const dependents = api.objects.filter((each) => each.ownerReferences.some((owner) => owner.uid === uid));
  const isBlocking = (each: StoredObject): boolean =>
    each.ownerReferences.some((owner) => owner.uid === uid && owner.blockOwnerDeletion === true);
  const { kind, namespace, ownerReferences, keep, ...rest } = object;
  const isKept = api.objects.some(
    (each) => each.kind.kind === 'Namespace' && each.name === namespace && each.keep,
  );
  return {
    object: {
      ...kind,
      namespace,
      name: rest.name,
      uid,
      resourceVersion: rest.resourceVersion,
      deletionTimestamp: rest.deletionTimestamp,
      finalizers: [...rest.finalizers],
      keptBy: keep ? 'object' : isKept ? 'namespace' : null,
    },
    references: ownerReferences.map((reference) => ({
      controller: false,
      blockOwnerDeletion: false,
      ...reference,
      ...readState(api, object, reference),
      gone: null,
    })),
    dependents: {
      count: dependents.length,
      blocking: dependents.filter(isBlocking).length,
      oneWaits: dependents.some((each) => stateOf(each) === 'waiting'),
    },
    cascades: [],
  };
}

function readState(
  api: FakeApi,
  { kind, namespace }: StoredObject,
  { apiVersion, kind: ownerKind, name, uid }: FakeReference,
): Pick<OwnershipReference, 'state' | 'resolved'> {
  const found = kindsOf(api).find(apiVersion, ownerKind);
  if (found.state === 'unresolved' || name === '..') return { state: 'unresolved', resolved: null };
  const { served } = found;
  if (!kind.namespaced && served.namespaced) return { state: 'scope', resolved: served };
  const owner = api.objects.find(
    (each) =>
      each.kind === served && each.name === name && (!served.namespaced || each.namespace === namespace),
  );
  return { state: owner?.uid === uid ? stateOf(owner) : 'unseen', resolved: served };
}

function stateOf({ deletionTimestamp, finalizers }: StoredObject): ReferenceState {
  if (deletionTimestamp === null) return 'held';
  if (finalizers.includes('orphan')) return 'orphaning';
  return finalizers.includes('foregroundDeletion') ? 'waiting' : 'held';
}
