import { type ClusterLook, lookAtCluster } from '../../../../../services/cluster/ask/look.ts';
import { FakeCluster, type FakeObject } from '../../agent/support/fake-cluster.ts';

/** A look at a cluster that has what `prepare` puts into it. */
export async function lookedAt(prepare: (cluster: FakeCluster) => void): Promise<ClusterLook> {
  const cluster = new FakeCluster(() => 0);
  prepare(cluster);
  return lookAtCluster({ connection: cluster.connection(), nowMs: () => 0 }, AbortSignal.timeout(60_000));
}

export const KEPT = { annotations: { 'fleetgc.io/keep': '' } };

/** A Secret that names these owners: those with the names of other Secrets are such. */
export function owned(
  name: string,
  owners: readonly string[],
  reference: object = {},
  metadata: object = {},
): FakeObject {
  const ownerReferences = owners.map((owner) => ({
    apiVersion: 'v1',
    kind: SECRETS.includes(owner) ? 'Secret' : 'ConfigMap',
    name: owner,
    uid: owner,
    ...reference,
  }));
  return { resource: 'secrets', name, metadata: { ownerReferences, ...metadata } };
}
const SECRETS = ['d', 'stuck'];
