import type { ApiKind } from '../../../../packages/kube-api/resources.ts';
import {
  CONFIG_MAP,
  DEPLOYMENT,
  JOB,
  LEASE,
  NAMESPACE,
  POD,
  REPLICA_SET,
  SECRET,
} from '../../../../sim/api-server/kinds.ts';

export const NODE: ApiKind = { group: '', version: 'v1', kind: 'Node', resource: 'nodes', namespaced: false };
export const VOLUME: ApiKind = {
  group: '',
  version: 'v1',
  kind: 'PersistentVolume',
  resource: 'persistentvolumes',
  namespaced: false,
};
export const CLUSTER_ROLE: ApiKind = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: 'ClusterRole',
  resource: 'clusterroles',
  namespaced: false,
};

/** What the API server of a round serves. */
export const KINDS: readonly ApiKind[] = [
  NAMESPACE,
  CONFIG_MAP,
  SECRET,
  POD,
  DEPLOYMENT,
  REPLICA_SET,
  LEASE,
  JOB,
  NODE,
  VOLUME,
  CLUSTER_ROLE,
];

/** Of these the API server may misbehave, by the plural of their kinds. */
export const RESOURCES: readonly string[] = [CONFIG_MAP, SECRET, POD, REPLICA_SET, JOB].map(
  ({ resource }) => resource,
);
