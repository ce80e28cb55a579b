import { createNodeAgent } from '../../node-agent/agent.ts';
import { runNodeAgent } from '../../node-agent/main.ts';
import { every, together } from '../../node-agent/repeat.ts';
import { createNodeExecutor } from '../../node-executor/executor.ts';
import { nodeSubscription, runNodeExecutor } from '../../node-executor/main.ts';
import type { ExecutorOptions } from '../../node-executor/node-files.ts';
import { startConsumer } from '../../shared/consume.ts';
import type { ServiceProcess } from '../../shared/service-process.ts';
import { consumeUntil } from '../wait.ts';
import type { PauseSource } from './enforcement.ts';
import type { ManagedNode } from './managed-node.ts';
import { agentDeps, executorDeps, type NodeParts, nodeConsuming, nodeParts } from './node-parts.ts';

export interface NodeRun {
  readonly process: ServiceProcess;
  readonly node: ManagedNode;
  readonly signal: AbortSignal;
}

/** What only the removing half needs. */
export interface Removing {
  readonly policies: PauseSource;
  readonly options: ExecutorOptions;
}

/** Agent and executor in one process; they share one consumer, one history and what the kubelet says. */
export async function runNode({ process, node, signal }: NodeRun, removing: Removing): Promise<void> {
  using resources = new DisposableStack();
  const parts = nodeParts(process, node, resources);
  tellNode(parts);
  const agent = createNodeAgent(agentDeps(parts));
  const executor = createNodeExecutor(executorDeps(parts, removing));
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
  await together([agent.run, executor.run, (stop) => consumeUntil(stop, [consumer])], signal);
}

/** The reading half alone. */
export async function runAgentOnly({ process, node, signal }: NodeRun): Promise<void> {
  using resources = new DisposableStack();
  const parts = nodeParts(process, node, resources);
  tellNode(parts);
  const consuming = nodeConsuming(parts, `fleetgc-agent-${node.identity.nodeInstance}`);
  const { problem, finished } = runNodeAgent({ agent: agentDeps(parts), consuming }, signal);
  process.addCheck({ name: 'node-agent', problem });
  await finished;
}

const PODS_EVERY_MS = 10_000;

/** The removing half alone. It asks the kubelet itself, so that what a pod has just begun to want stays. */
export async function runExecutorOnly({ process, node, signal }: NodeRun, removing: Removing): Promise<void> {
  using resources = new DisposableStack();
  const parts = nodeParts(process, node, resources);
  tellNode(parts);
  const { group } = nodeSubscription(node.identity);
  const deps = {
    ...executorDeps(parts, removing),
    ...nodeConsuming(parts, group),
    onStarted: (consumer: { problem(): string | null }): void =>
      process.addCheck({ name: 'node-executor', problem: () => consumer.problem() }),
  };
  const asking = (stop: AbortSignal): Promise<void> =>
    every(PODS_EVERY_MS, () => ask(parts), { sleep: process.sources.wait, signal: stop });
  await together([(stop) => runNodeExecutor(deps, stop), asking], signal);
}

/** A kubelet that does not answer takes nothing away from what is known. */
async function ask({ node, process }: NodeParts): Promise<void> {
  try {
    await node.pods.source?.list();
  } catch (error) {
    process.logger.debug({ err: error }, 'the kubelet did not answer');
  }
}

function tellNode({ process, node }: NodeParts): void {
  process.logger.info({ ...node.identity, runtimeEndpoint: node.runtimeEndpoint }, 'this node');
  if (node.pods.source === null)
    process.logger.info('no --kubelet-url: no pod counts as deleted, and what belongs to one stays');
}
