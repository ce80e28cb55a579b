import { createDeadLetters } from '../../packages/pipeline/dead-letters/dead-letters.ts';
import { clusterSource, createPublisher, type Publisher } from '../../packages/pipeline/publisher.ts';
import type { PolicySource } from '../../packages/policy/policies.ts';
import { runTogether } from '../../packages/process/loops.ts';
import type { ServiceProcess } from '../../packages/service/service-process.ts';
import { createClusterAgent } from '../cluster-agent/main.ts';
import { executorGroup, type RunClusterExecutor, runClusterExecutor } from '../cluster-executor/main.ts';
import type { OpenCluster } from './open-cluster.ts';

interface ClusterRun {
  readonly process: ServiceProcess;
  readonly cluster: OpenCluster;
  /** The policies as this process follows them itself. */
  readonly policies: PolicySource;
  readonly signal: AbortSignal;
}

/** Agent and executor of one cluster in one process: the executor asks the agent's owner graph beside the API server. */
export async function runCluster(run: ClusterRun): Promise<void> {
  const { process, cluster } = run;
  const { log, trust, sources, metrics, logger } = process;
  const publisher = publisherOf(run);
  const agent = createClusterAgent({
    cluster: cluster.identity.cluster,
    connection: cluster.connection,
    publisher,
    log,
    policies: run.policies.current.cluster,
    trust,
    sources,
    metrics,
    logger,
  });
  process.addCheck({ name: 'cluster-agent', problem: () => agent.problem() });
  const executor = executorDeps(run, { publisher, index: agent });
  const executing = (stop: AbortSignal): Promise<void> => runClusterExecutor(executor, stop);
  await runTogether([(stop) => agent.run(stop), executing], run.signal);
}

function publisherOf({ process: { log, signer, sources }, cluster }: ClusterRun): Publisher {
  const source = clusterSource(cluster.identity.cluster);
  return createPublisher({ log, source, now: sources.now, ids: sources.traceIds, signer });
}

function executorDeps(
  { process, cluster: { identity, connection }, policies }: ClusterRun,
  { publisher, index }: Pick<RunClusterExecutor, 'publisher' | 'index'>,
): RunClusterExecutor {
  const { log, trust, metrics, logger, sources } = process;
  const group = executorGroup(identity);
  return {
    identity,
    connection,
    index,
    policies: policies.current.cluster,
    log,
    trust,
    publisher,
    deadLetters: createDeadLetters({ publisher, group, metrics, logger, now: sources.monotonicNow }),
    sources,
    logger,
    metrics,
    onStarted: (consumer) =>
      process.addCheck({ name: 'cluster-executor', problem: () => consumer.problem() }),
  };
}
