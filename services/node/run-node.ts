import { startConsumer } from '../../packages/pipeline/consume.ts';
import type { ServiceProcess } from '../../packages/service/service-process.ts';
import { consumeUntil } from '../../packages/service/wait.ts';
import { createNodeAgent } from '../node-agent/agent.ts';
import { ownLooks } from '../node-agent/inventory/own-looks.ts';
import { runNodeAgent } from '../node-agent/main.ts';
import { every, together } from '../node-agent/repeat.ts';
import { createNodeExecutor } from '../node-executor/executor.ts';
import { nodeSubscription, runNodeExecutor } from '../node-executor/main.ts';
import type { ManagedNode } from './managed-node.ts';
import {
  agentDeps,
  executorDeps,
  type NodeParts,
  nodeConsuming,
  nodeParts,
  type Removing,
} from './node-parts.ts';

export interface NodeRun {
  readonly process: ServiceProcess;
  readonly node: ManagedNode;
  readonly signal: AbortSignal;
}

/** Agent and executor in one process; they share one consumer, one history and what the kubelet says. */
export async function runNode({ process, node, signal }: NodeRun, removing: Removing): Promise<void> {
  using resources = new DisposableStack();
  const parts = nodeParts(process, node, resources);
  tellNode(parts);
  const agent = createNodeAgent(agentDeps(parts, removing.policies));
  const executor = createNodeExecutor(executorDeps(parts, removing, agent));
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
export async function runAgentOnly(
  { process, node, signal }: NodeRun,
  policies: Removing['policies'],
): Promise<void> {
  using resources = new DisposableStack();
  const parts = nodeParts(process, node, resources);
  tellNode(parts);
  const consuming = nodeConsuming(parts, `fleetgc-agent-${node.identity.nodeInstance}`);
  const { problem, finished } = runNodeAgent({ agent: agentDeps(parts, policies), consuming }, signal);
  process.addCheck({ name: 'node-agent', problem });
  await finished;
}

const LOOK_EVERY_MS = 10_000;

/**
 * The removing half alone. It looks at the node itself, as an agent does: what a pod has just begun to want stays, and
 * whether a pod is gone takes time to see.
 */
export async function runExecutorOnly({ process, node, signal }: NodeRun, removing: Removing): Promise<void> {
  using resources = new DisposableStack();
  const parts = nodeParts(process, node, resources);
  tellNode(parts);
  const { group } = nodeSubscription(node.identity);
  const looks = ownLooks(agentDeps(parts, removing.policies));
  const deps = {
    ...executorDeps(parts, removing, looks),
    ...nodeConsuming(parts, group),
    onStarted: (consumer: { problem(): string | null }): void =>
      process.addCheck({ name: 'node-executor', problem: () => consumer.problem() }),
  };
  const looking = (stop: AbortSignal): Promise<void> =>
    every(LOOK_EVERY_MS, looks.detect, { sleep: process.sources.wait, signal: stop });
  await together([(stop) => runNodeExecutor(deps, stop), looking], signal);
}

function tellNode({ process, node }: NodeParts): void {
  process.logger.info({ ...node.identity, runtimeEndpoint: node.runtimeEndpoint }, 'this node');
  if (node.pods.source === null)
    process.logger.info('no --kubelet-url: no pod counts as deleted, and what belongs to one stays');
}
