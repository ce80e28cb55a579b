import { clusterSource, createPublisher } from '../../packages/pipeline/publisher.ts';
import type { PolicySource } from '../../packages/policy/policies.ts';
import { runTogether } from '../../packages/process/loops.ts';
import type { ServiceProcess } from '../../packages/service/service-process.ts';
import { createClusterAgent } from '../cluster-agent/main.ts';
import type { OpenCluster } from './open-cluster.ts';

interface ClusterRun {
  readonly process: ServiceProcess;
  readonly cluster: OpenCluster;
  /** The policies as this process follows them itself. */
  readonly policies: PolicySource;
  readonly signal: AbortSignal;
}

/** Agent and executor of one cluster in one process: the executor asks the agent's owner graph in place of the API server. */
export async function runCluster({ process, cluster, signal }: ClusterRun): Promise<void> {
  const { log, signer, sources, metrics, logger } = process;
  const { identity, connection } = cluster;
  const publisher = createPublisher({
    log,
    source: clusterSource(identity.cluster),
    now: sources.now,
    ids: sources.traceIds,
    signer,
  });
  const agent = createClusterAgent({
    cluster: identity.cluster,
    connection,
    publisher,
    sources,
    metrics,
    logger,
  });
  process.addCheck({ name: 'cluster-agent', problem: () => agent.problem() });
  await runTogether([(stop) => agent.run(stop)], signal);
}
