import type { ApiKind } from '../../../../packages/kube-api/resources.ts';
import {
  CLUSTER_ROLE,
  CONFIG_MAP,
  DEPLOYMENT,
  JOB,
  LEASE,
  NAMESPACE,
  NODE,
  POD,
  REPLICA_SET,
  SECRET,
  VOLUME,
} from '../../../sim/api-server/objects.ts';

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
