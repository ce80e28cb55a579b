import type { ObjectMetadata } from '../../../packages/kube-api/metadata.ts';
import { type GraphObject, sameReferences } from '../../../packages/owner-graph/graph-object.ts';
import type { ResourceKind } from '../../../packages/owner-graph/kinds.ts';
import type { OwnerIndex } from '../../../packages/owner-graph/owner-index.ts';
import { isOlder } from './watching/resource-versions.ts';

/** An object under the kind of its subscription (cluster A4). */
export const graphObject = (kind: ResourceKind, object: ObjectMetadata): GraphObject => ({
  kind,
  namespace: kind.namespaced ? object.namespace : '',
  name: object.name,
  uid: object.uid,
  resourceVersion: object.resourceVersion,
  deletionTimestamp: object.deletionTimestamp,
  finalizers: object.finalizers,
  references: object.ownerReferences,
  keep: object.keep,
});

/** Most events change what the graph does not keep; of an owner with thousands of dependents none has to be looked at again. */
export const isNewsTo = (known: GraphObject, object: GraphObject): boolean =>
  known.kind !== object.kind ||
  known.name !== object.name ||
  known.namespace !== object.namespace ||
  known.deletionTimestamp !== object.deletionTimestamp ||
  known.keep !== object.keep ||
  !sameTexts(known.finalizers, object.finalizers) ||
  !sameReferences(known.references, object.references);

/**
 * Whether it was seen before in a newer state, or was told to go, under the same kind: then the cluster was restored, whatever its
 * versions are by now (cluster S3). What is remembered of an earlier agent may not have gone yet. Of one that is served under two kinds, each watch tells in its own time.
 */
export function isOfThePast(
  { uid, kind, resourceVersion }: GraphObject,
  index: OwnerIndex,
  remembered: ReadonlyMap<string, unknown>,
): boolean {
  const known = index.get(uid);
  if (known === undefined) {
    const gone = index.gone.get(uid);
    return gone?.how === 'watched' && !remembered.has(uid) && isSameResource(gone.kind, kind);
  }
  const isAlone = index.otherKinds(uid).length === 0;
  return isAlone && isSameResource(known.kind, kind) && isOlder(resourceVersion, known.resourceVersion);
}

const isSameResource = (one: ResourceKind, other: ResourceKind): boolean =>
  one.group === other.group && one.kind === other.kind && one.resource === other.resource;

const sameTexts = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((text, at) => text === other[at]);
