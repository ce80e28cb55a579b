import type { ObjectMetadata } from '../../packages/kube-api/metadata.ts';
import type { GraphObject } from '../../packages/owner-graph/graph-object.ts';
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
