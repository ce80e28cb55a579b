import type { ClusterObject } from '../../../../schemas/events/cluster-objects.ts';

/** A ConfigMap of the namespace `default`, as an order names it in this state. */
export const objectOf = (
  name: string,
  { uid, resourceVersion }: Pick<ClusterObject, 'uid' | 'resourceVersion'>,
): ClusterObject => ({
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  resource: 'configmaps',
  namespaced: true,
  namespace: 'default',
  name,
  uid,
  resourceVersion,
});
