import { hostname } from 'node:os';
import { inClusterNamespace } from '../../packages/kube-api/access.ts';
import { IN_CLUSTER } from '../../packages/kube-api/open-connection.ts';
import type { ServiceProcess } from '../../packages/service/service-process.ts';
import { leaseNamespaceOf, type TurnOptions } from './cluster-options.ts';
import type { OpenCluster } from './open-cluster.ts';
import { Turns } from './turns.ts';

/** What takes turns in a cluster: each has a Lease of its own, called as its account is. */
const LEASES = {
  agent: 'fleetgc-cluster-agent',
  executor: 'fleetgc-cluster-executor',
  policies: 'fleetgc-policy-controller',
} as const;
export type ClusterRole = keyof typeof LEASES;

interface TakingTurns {
  readonly role: ClusterRole;
  readonly process: ServiceProcess;
  readonly cluster: Pick<OpenCluster, 'connection'>;
  readonly options: TurnOptions & { readonly kubeconfig: string };
}

/** `null` where replicas are to take none. What they tell of them is in readiness and metrics. */
export function openTurns({ role, process, cluster, options }: TakingTurns): Turns | null {
  const ofPod = options.kubeconfig === IN_CLUSTER ? inClusterNamespace() : null;
  const namespace = leaseNamespaceOf(options, ofPod);
  if (namespace === null) return null;
  const { sources, logger, metrics } = process;
  const turns = new Turns({
    connection: cluster.connection,
    lease: { namespace, name: LEASES[role] },
    holder: `${hostname()}_${sources.newId()}`,
    now: sources.now,
    nowMs: sources.monotonicNow,
    sleep: sources.wait,
    logger,
  });
  process.addCheck({ name: 'lease', problem: () => null, notice: () => turns.notice() });
  metrics.gauge('cluster_working', 'Whether this replica works (1) or stands by for another (0).', [], () => [
    [{}, Number(turns.isMine)],
  ]);
  return turns;
}
