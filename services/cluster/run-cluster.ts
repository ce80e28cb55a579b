import type { StateFiles } from '../../packages/machine/state-directory.ts';
import { watchStateSpace } from '../../packages/machine/state-space.ts';
import type { PolicySource } from '../../packages/policy/policies.ts';
import { runTogether } from '../../packages/process/loops.ts';
import { openCrashMarks } from '../../packages/records/dead-letters/crash-marks.ts';
import { createDeadLetters } from '../../packages/records/dead-letters/dead-letters.ts';
import { createAgentPublisher } from '../../packages/records/latest-facts.ts';
import { clusterSource, type Publisher } from '../../packages/records/publisher.ts';
import type { ServiceProcess } from '../../packages/service/service-process.ts';
import { type ClusterAgent, createClusterAgent } from './agent/agent.ts';
import type { RemovingOptions } from './cluster-options.ts';
import { executorGroup, type RunClusterExecutor, runClusterExecutor } from './executor/run.ts';
import type { OpenCluster } from './open-cluster.ts';
import type { Turns } from './turns.ts';

interface ClusterRun {
  readonly process: ServiceProcess;
  readonly cluster: OpenCluster;
  readonly signal: AbortSignal;
}

interface UnderPolicies {
  /** The policies as this process follows them itself. */
  readonly policies: Pick<PolicySource, 'current'>;
}

/** What only the removing half needs. */
interface Removing extends UnderPolicies {
  readonly removing: RemovingOptions;
  /** The directory of what the process keeps over its restarts. */
  readonly state: Pick<StateFiles, 'path'>;
}

/** Agent and executor of one cluster in one process: the executor asks the agent's owner graph beside the API server. */
export async function runCluster(run: ClusterRun, removing: Removing): Promise<void> {
  const { publisher, latestFacts } = publishingOf(run);
  const agent = agentOf(run, removing, publisher);
  const executor = executorDeps(run, removing, { publisher, index: agent });
  const executing = (stop: AbortSignal): Promise<void> => runClusterExecutor(executor, stop);
  const watching = watchStateSpace(removing.state.path, run.process);
  await runTogether([(stop) => agent.run(stop), executing, watching], run.signal).finally(() =>
    latestFacts.end(),
  );
}

/** One of several replicas, or the only one. */
interface InTurn {
  /** `null` where each replica works. */
  readonly turns: Pick<Turns, 'run'> | null;
}

const inTurn = async (
  { turns }: InTurn,
  work: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> => (turns === null ? work(signal) : turns.run(work, signal));

/** The reading half alone. */
export async function runAgentOnly(run: ClusterRun, taking: InTurn & UnderPolicies): Promise<void> {
  reportCluster(run);
  const working = async (signal: AbortSignal): Promise<void> => {
    const { publisher, latestFacts } = publishingOf(run);
    await agentOf(run, taking, publisher)
      .run(signal)
      .finally(() => latestFacts.end());
  };
  await inTurn(taking, working, run.signal);
}

/** The removing half alone: it judges by what the API server says right then, since it has no graph. */
export async function runExecutorOnly(run: ClusterRun, removing: Removing & InTurn): Promise<void> {
  reportCluster(run);
  const deps = executorDeps(run, removing, { publisher: publishingOf(run).publisher, index: null });
  const working = (stop: AbortSignal): Promise<void> =>
    inTurn(removing, (signal) => runClusterExecutor(deps, signal), stop);
  // One that stands by keeps the same files.
  await runTogether([working, watchStateSpace(removing.state.path, run.process)], run.signal);
}

const reportCluster = ({ process, cluster: { identity, server } }: ClusterRun): void =>
  process.logger.info({ ...identity, server }, 'this cluster');

function publishingOf({ process, cluster }: ClusterRun): ReturnType<typeof createAgentPublisher> {
  const { log, signer, tracer, logger, sources } = process;
  const { now, monotonicNow, traceIds: ids } = sources;
  const source = clusterSource(cluster.identity.cluster);
  return createAgentPublisher({ log, source, now, ids, signer, tracer }, { monotonicNow, logger });
}

function agentOf(
  { process, cluster }: ClusterRun,
  { policies }: UnderPolicies,
  publisher: Publisher,
): ClusterAgent {
  const { log, trust, sources, metrics, logger } = process;
  const agent = createClusterAgent({
    cluster: cluster.identity.cluster,
    connection: cluster.connection,
    publisher,
    log,
    policies: policies.current.cluster,
    trust,
    sources,
    metrics,
    logger,
  });
  process.addCheck({ name: 'cluster-agent', problem: () => agent.problem() });
  return agent;
}

function executorDeps(
  { process, cluster: { identity, connection } }: ClusterRun,
  { policies, removing, state }: Removing,
  { publisher, ...beside }: Pick<RunClusterExecutor, 'publisher' | 'index'>,
): RunClusterExecutor {
  const { log, trust, metrics, logger, sources } = process;
  const group = executorGroup(identity);
  return {
    identity,
    connection,
    ...beside,
    requestsPerSecond: removing.apiRequestsPerSecond,
    localFile: removing.localFile ?? null,
    policies: policies.current.cluster,
    log,
    trust,
    publisher,
    deadLetters: createDeadLetters({ publisher, group, metrics, logger, now: sources.monotonicNow }),
    marks: openCrashMarks(state.path, `in-hand-${group}`, logger),
    sources,
    logger,
    metrics,
    onStarted: (consumer) =>
      process.addCheck({ name: 'cluster-executor', problem: () => consumer.problem() }),
  };
}
