import type { ApiKind } from '../../../packages/kube-api/resources.ts';
import { POLICY_OBJECTS } from '../../../schemas/policy/policy-object.ts';

const kind = (group: string, name: string, resource: string, namespaced = true): ApiKind => ({
  group,
  version: 'v1',
  kind: name,
  resource,
  namespaced,
});

export const NAMESPACE = kind('', 'Namespace', 'namespaces', false);
export const CONFIG_MAP = kind('', 'ConfigMap', 'configmaps');
export const SECRET = kind('', 'Secret', 'secrets');
export const POD = kind('', 'Pod', 'pods');
export const DEPLOYMENT = kind('apps', 'Deployment', 'deployments');
export const REPLICA_SET = kind('apps', 'ReplicaSet', 'replicasets');
export const REPLICATION_CONTROLLER = kind('', 'ReplicationController', 'replicationcontrollers');
export const JOB = kind('batch', 'Job', 'jobs');
export const EVENT = kind('', 'Event', 'events');
export const LEASE = kind('coordination.k8s.io', 'Lease', 'leases');
export const NODE = kind('', 'Node', 'nodes', false);
export const VOLUME = kind('', 'PersistentVolume', 'persistentvolumes', false);
export const CLUSTER_ROLE = kind('rbac.authorization.k8s.io', 'ClusterRole', 'clusterroles', false);

/** As the definition of such policies makes it. */
export const POLICY: ApiKind = POLICY_OBJECTS;

/** Kinds whose status only a request to it changes, while no other one does. */
export const hasStatusApart = (served: ApiKind): boolean => served === POLICY;

/** What it serves where nothing else is said. */
export const SERVED: readonly ApiKind[] = [
  NAMESPACE,
  CONFIG_MAP,
  SECRET,
  POD,
  DEPLOYMENT,
  REPLICA_SET,
  LEASE,
];

export const apiVersionOf = ({ group, version }: Pick<ApiKind, 'group' | 'version'>): string =>
  group === '' ? version : `${group}/${version}`;
