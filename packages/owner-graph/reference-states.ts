import { FOREGROUND, ORPHAN } from '../../schemas/events/cluster-objects.ts';
import type { ReferenceState } from '../../schemas/events/ownership.ts';
import type { GoneObject, GoneObjects } from './gone-objects.ts';
import { type GraphObject, isDeletingWith, type OwnerReference } from './graph-object.ts';
import { groupOf, type KindState, type Kinds, type ResourceKind } from './kinds.ts';

/** States of a reference whose owner is said to be absent, if the API server says so too. */
export const DANGLING: ReadonlySet<ReferenceState> = new Set(['gone', 'unseen', 'elsewhere', 'unlisted']);

export interface StatedReference {
  readonly reference: OwnerReference;
  readonly state: ReferenceState;
  /** `null` where the kind is not known, or not for sure; of an owner that was seen, what it was. */
  readonly resolved: ResourceKind | null;
  /** Of an owner that was seen. */
  readonly gone: GoneObject | null;
}

/** What a look at references goes by. */
export interface Surroundings {
  readonly graph: GraphView;
  readonly kinds: Kinds;
  /** Whether the object has been known so long that events of its owners must have come too. */
  readonly isSettled: (uid: string) => boolean;
  /** Whether the kind is not served any more because its definition was deleted, for all that is known (cluster S17). */
  readonly isWithdrawn: (kind: ResourceKind) => boolean;
}

/** An owner's kind counts as `unlisted` only after so long. */
const UNLISTED_AFTER_MS = 30_000;

export const statedReferences = (object: GraphObject, around: Surroundings): readonly StatedReference[] =>
  object.references.map((reference) => {
    const kind = around.kinds.find(reference.apiVersion, reference.kind);
    const state = stateOf(object, reference, kind, around);
    const gone = around.graph.gone.get(reference.uid) ?? null;
    if (kind.state !== 'unresolved') return { reference, state, resolved: kind.served, gone };
    // What describes another object does not say how this one went.
    const own = gone !== null && isThatOf(reference, object.namespace, gone, [gone.kind]) ? gone : null;
    return { reference, state, resolved: own?.kind ?? null, gone: own };
  });

function stateOf(
  object: GraphObject,
  reference: OwnerReference,
  kind: KindState,
  around: Surroundings,
): ReferenceState {
  const owner = around.graph.get(reference.uid);
  // As upstream: dependents lose this uid from their references, however they describe it (cluster E1).
  if (owner !== undefined && isDeletingWith(owner, ORPHAN)) return 'orphaning';
  if (kind.state === 'unresolved')
    return kind.because === 'not-served' && wentWithItsKind(object, reference, around)
      ? 'gone'
      : 'unresolved';
  if (!object.kind.namespaced && kind.served.namespaced) return 'scope';
  if (owner !== undefined) return ofKnownOwner(object, reference, owner, around.graph);
  return ofUnknownOwner(object, reference, kind, around);
}

function ofUnknownOwner(
  { uid, namespace }: GraphObject,
  reference: OwnerReference,
  kind: Exclude<KindState, { state: 'unresolved' }>,
  { graph, isSettled }: Surroundings,
): ReferenceState {
  const gone = graph.gone.get(reference.uid);
  // Its kind left, and is read again: it may be back with it.
  if (gone?.how === 'kind-going' && kind.state === 'watched' && !kind.synced) return 'pending';
  if (gone !== undefined) return isThatOf(reference, namespace, gone, [gone.kind]) ? 'gone' : 'elsewhere';
  if (kind.state === 'unlisted') return kind.forMs >= UNLISTED_AFTER_MS ? 'unlisted' : 'pending';
  return kind.synced && isSettled(uid) ? 'unseen' : 'pending';
}

/** The owner was seen to be deleted, and its kind was withdrawn. That a kind is not served alone says nothing (cluster D9, S17). */
function wentWithItsKind(
  { kind, namespace }: GraphObject,
  reference: OwnerReference,
  { graph, isWithdrawn }: Surroundings,
): boolean {
  const gone = graph.gone.get(reference.uid);
  if (graph.get(reference.uid) !== undefined || gone?.how !== 'kind-going' || !gone.isDeletionSeen)
    return false;
  const isInScope = kind.namespaced || !gone.kind.namespaced;
  return isInScope && isThatOf(reference, namespace, gone, [gone.kind]) && isWithdrawn(gone.kind);
}

function ofKnownOwner(
  { namespace }: GraphObject,
  reference: OwnerReference,
  owner: GraphObject,
  graph: GraphView,
): ReferenceState {
  if (!isThatOf(reference, namespace, owner, [owner.kind, ...graph.otherKinds(owner.uid)]))
    return 'elsewhere';
  return isDeletingWith(owner, FOREGROUND) ? 'waiting' : 'held';
}

/** Group, kind and name agree, and the owner is cluster-scoped or in the namespace of its dependent (cluster H1, H4, H5). */
const isThatOf = (
  { apiVersion, kind, name }: OwnerReference,
  namespace: string,
  owner: { readonly namespace: string; readonly name: string },
  kinds: readonly ResourceKind[],
): boolean =>
  owner.name === name &&
  (owner.namespace === '' || owner.namespace === namespace) &&
  kinds.some((each) => each.kind === kind && each.group === groupOf(apiVersion));

/** What is known of a uid that references name. */
export interface GraphView {
  get(uid: string): GraphObject | undefined;
  /** Kinds under which a uid is served beside its first one: some objects lie in two groups. */
  otherKinds(uid: string): readonly ResourceKind[];
  /** Objects that list the uid, whether it is known or not (cluster B6). */
  dependents(uid: string): Iterable<GraphObject>;
  countDependents(uid: string): number;
  /** How many objects that are not being deleted may list an owner there, by references that were not read. */
  countUnknownDependents(owner: Pick<GraphObject, 'namespace'>): number;
  readonly gone: Pick<GoneObjects, 'get'>;
}
