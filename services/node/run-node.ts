import { CALL_TIMEOUTS, connectReader, connectRemover } from '../../packages/cri/client.ts';
import { withOtherUses } from '../../packages/cri/containerd/other-uses.ts';
import { type ContainerdReader, connectContainerd } from '../../packages/cri/containerd/reader.ts';
import { isImportingSocket } from '../../packages/cri/socket-path.ts';
import { watchStateSpace } from '../../packages/machine/state-space.ts';
import type { PolicySource } from '../../packages/policy/policies.ts';
import { pause } from '../../packages/process/backoff.ts';
import { runEvery, runTogether } from '../../packages/process/loops.ts';
import { type ConsumerSettings, startConsumer } from '../../packages/records/consume.ts';
import { openCrashMarks } from '../../packages/records/dead-letters/crash-marks.ts';
import { createDeadLetters } from '../../packages/records/dead-letters/dead-letters.ts';
import { createAgentPublisher, type LatestFacts } from '../../packages/records/latest-facts.ts';
import { nodeSource, type Publisher } from '../../packages/records/publisher.ts';
import { publishingReadable } from '../../packages/records/readable-facts.ts';
import { consumeUntil } from '../../packages/service/consume-until.ts';
import type { ServiceProcess } from '../../packages/service/service-process.ts';
import { byTheClock, NodeAgent, type NodeAgentDeps, runNodeAgent } from './agent/agent.ts';
import { loggedContentReading } from './agent/contents.ts';
import { executorOnlyFacts } from './agent/for-executor.ts';
import { podLogReader } from './agent/pod-logs.ts';
import { policyInForce } from './executor/checks.ts';
import { watchStops } from './executor/metrics.ts';
import type { OwnFacts } from './executor/own-plan.ts';
import {
  createNodeExecutor,
  type ExecutorDeps,
  type ExecutorOptions,
  filesOnDisk,
  nodeSubscription,
  runNodeExecutor,
} from './executor/run.ts';
import type { ManagedNode } from './managed-node.ts';

interface NodeRun {
  readonly process: ServiceProcess;
  readonly node: ManagedNode;
  readonly signal: AbortSignal;
}

/** Agent and executor in one process; they share one consumer, one history and what the kubelet says. */
export async function runNode({ process, node, signal }: NodeRun, removing: Removing): Promise<void> {
  using resources = new DisposableStack();
  const parts = nodeParts(process, node, resources);
  reportNode(parts);
  const agent = new NodeAgent(agentDeps(parts, removing.policies));
  const deps = executorDeps(parts, removing, agent);
  const executor = createNodeExecutor(deps);
  const subscription = nodeSubscription(node.identity);
  const consumer = await startConsumer({
    ...nodeConsuming(parts, subscription.group),
    ...subscription,
    name: 'node',
    handlers: { observe: agent.observe, commands: executor.commands },
    onRejection: executor.onRejection,
  });
  process.addCheck({ name: 'node-agent', problem: agent.problem });
  process.addCheck({ name: 'node', problem: () => consumer.problem() });
  const consuming = (stop: AbortSignal): Promise<void> => consumeUntil(stop, [consumer]);
  const watching = [watchLocalFile(process, deps.files), watchStateSpace(node.state.path, process)];
  await runTogether([agent.run, executor.run, ...watching, consuming], signal).finally(() =>
    parts.latestFacts.end(),
  );
}

/** The reading half alone. */
export async function runAgentOnly(
  { process, node, signal }: NodeRun,
  policies: Removing['policies'],
): Promise<void> {
  using resources = new DisposableStack();
  const parts = nodeParts(process, node, resources);
  reportNode(parts);
  const consuming = nodeConsuming(parts, `fleetgc-agent-${node.identity.nodeInstance}`);
  const agent = { agent: agentDeps(parts, policies), consuming };
  const running = async (stop: AbortSignal): Promise<void> => {
    const { problem, finished } = runNodeAgent(agent, stop);
    process.addCheck({ name: 'node-agent', problem });
    await finished;
  };
  await runTogether([running, watchStateSpace(node.state.path, process)], signal).finally(() =>
    parts.latestFacts.end(),
  );
}

/** @limit Period of the usage check of an executor without an agent. */
const DETECT_EVERY_MS = 10_000;

/**
 * The removing half alone. It scans the node itself, as an agent does: what a pod has just begun to want stays, and
 * whether a pod is gone takes time to see.
 */
export async function runExecutorOnly({ process, node, signal }: NodeRun, removing: Removing): Promise<void> {
  using resources = new DisposableStack();
  const parts = nodeParts(process, node, resources);
  reportNode(parts);
  const { group } = nodeSubscription(node.identity);
  const facts = executorOnlyFacts(agentDeps(parts, removing.policies));
  const deps = {
    ...executorDeps(parts, removing, facts),
    ...nodeConsuming(parts, group),
    onStarted: (consumer: { problem(): string | null }): void =>
      process.addCheck({ name: 'node-executor', problem: () => consumer.problem() }),
  };
  const detecting = (stop: AbortSignal): Promise<void> =>
    runEvery(DETECT_EVERY_MS, facts.detect, { sleep: process.sources.wait, signal: stop });
  const executing = (stop: AbortSignal): Promise<void> => runNodeExecutor(deps, stop);
  const watching = [watchLocalFile(process, deps.files), watchStateSpace(node.state.path, process)];
  await runTogether([executing, ...watching, detecting], signal);
}

/** @limit Period in which `node.yaml` is read. */
const LOCAL_FILE_EVERY_MS = 10_000;

/** Whoever writes the node's own file reads in the log what is wrong with it, and not only when an order comes. */
const watchLocalFile =
  ({ sources }: Pick<ServiceProcess, 'sources'>, files: ExecutorDeps['files']) =>
  (signal: AbortSignal): Promise<void> =>
    runEvery(LOCAL_FILE_EVERY_MS, async () => void (await files.localRules()), {
      sleep: sources.wait,
      signal,
    });

function reportNode({ process, node }: NodeParts): void {
  process.logger.info({ ...node.identity, runtimeEndpoint: node.runtimeEndpoint }, 'this node');
  if (node.pods.source === null)
    process.logger.info('no --kubelet-url: no pod counts as deleted, and what belongs to one stays');
}

/**
 * An executor that stops finishes the removal in hand, which may take as long as the runtime lets one image take.
 * @limit Time to stop a node. `deploy/` grants 630 s.
 */
export const NODE_SHUTDOWN_LIMIT_MS = CALL_TIMEOUTS.removeImageMs + 20_000;

/** What the services of a node are made of. */
interface NodeParts {
  readonly process: ServiceProcess;
  readonly node: ManagedNode;
  readonly publisher: Publisher;
  /** To be ended after the last fact. */
  readonly latestFacts: LatestFacts;
  /** Connections to the runtime are closed with it. */
  readonly resources: DisposableStack;
}

function nodeParts(process: ServiceProcess, node: ManagedNode, resources: DisposableStack): NodeParts {
  const { log, signer, tracer, sources, logger } = process;
  const { now, monotonicNow, traceIds: ids } = sources;
  const publishing = createAgentPublisher(
    { log, source: nodeSource(node.identity), now, ids, signer, tracer },
    { monotonicNow, logger },
  );
  return { process, node, ...publishing, resources };
}

type Consuming = Pick<
  ConsumerSettings,
  'log' | 'trust' | 'publisher' | 'deadLetters' | 'logger' | 'marks' | 'metrics' | 'now' | 'monotonicNow'
>;

/** What a consumer of this node needs beside its handlers. */
function nodeConsuming({ process, node, publisher }: NodeParts, group: string): Consuming {
  const { log, trust, logger, metrics, sources } = process;
  const { now, monotonicNow } = sources;
  const deadLetters = createDeadLetters({ publisher, group, metrics, logger, now: monotonicNow });
  const marks = openCrashMarks(node.state.path, `in-hand-${group}`, logger);
  return { log, trust, publisher, deadLetters, logger, marks, metrics, now, monotonicNow };
}

/** `null` where it is not to be asked. */
const containerdOf = (
  { imageLayers, runtimeEndpoint }: ManagedNode,
  resources: DisposableStack,
): ContainerdReader | null => (imageLayers ? resources.use(connectContainerd(runtimeEndpoint)) : null);

/** The agent has connections of its own, which have no removing half. */
function agentDeps(
  { process, node, publisher, resources }: NodeParts,
  policies: Pick<PolicySource, 'current'>,
): NodeAgentDeps {
  const { identity, nodeLabels, state, clock, pods, podSources } = node;
  const { sources, logger, metrics, tracer } = process;
  const containerd = containerdOf(node, resources);
  const runtime = withOtherUses(resources.use(connectReader(node.runtimeEndpoint)), containerd, sources);
  return {
    identity,
    nodeLabels,
    policies: policies.current.node,
    runtime,
    contents: loggedContentReading({
      containerd,
      importsLookPulled: isImportingSocket(node.runtimeEndpoint),
      clock,
      logger,
    }),
    filesystems: node.filesystems(runtime, (problems) => {
      if (problems.length === 0) logger.info('all filesystems can be measured again');
      for (const problem of problems)
        logger.warn({ problem }, 'what needs the free space of this filesystem waits');
    }),
    podLogs: podLogReader(node.podLogs),
    pods: pods.source,
    podSources,
    state,
    publisher: { publish: publishingReadable(publisher, metrics) },
    tracer,
    clock,
    sleep: sources.wait,
    schedule: byTheClock(sources.wait),
    random: sources.random,
    logger,
    metrics,
  };
}

/** What only the removing half needs. */
interface Removing {
  /** The policies as this process follows them itself. */
  readonly policies: Pick<PolicySource, 'current'>;
  readonly options: ExecutorOptions;
}

function executorDeps(
  { process, node, publisher, resources }: NodeParts,
  { policies, options }: Removing,
  own: OwnFacts,
): ExecutorDeps {
  const { identity, nodeLabels, clock, state, pods } = node;
  const { sources, logger, metrics } = process;
  const containerd = containerdOf(node, resources);
  const runtime = withOtherUses(resources.use(connectRemover(node.runtimeEndpoint)), containerd, sources);
  const policy = () => policyInForce(policies.current.node, { ...identity, nodeLabels });
  const files = filesOnDisk(options, { clock, state, logger });
  return {
    node: {
      identity,
      runtime,
      filesystems: node.filesystems(runtime),
      clock,
      state,
      policy,
      trust: process.trust,
      takeInventory: own.takeInventory,
      diskHistory: own.diskHistory,
      wantedByPods: pods.wanted,
      podsNow: pods.now,
    },
    files: { ...files, localRules: watchStops(metrics, policy, files.localRules) },
    publisher,
    sleep: pause,
    random: sources.random,
    logger,
    metrics,
  };
}
