import type { ObjectMetadata } from '../../packages/kube-api/metadata.ts';
import { type GraphObject, sameReferences } from '../../packages/owner-graph/graph-object.ts';
import type { ResourceKind } from '../../packages/owner-graph/kinds.ts';

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

const sameTexts = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((text, at) => text === other[at]);
