import { CALL_TIMEOUTS, connectReader, connectRemover } from '../../packages/cri/client.ts';
import { withOtherUses } from '../../packages/cri/containerd/other-uses.ts';
import { type ContainerdReader, connectContainerd } from '../../packages/cri/containerd/reader.ts';
import type { ConsumerSettings } from '../../packages/pipeline/consume.ts';
import { openCrashMarks } from '../../packages/pipeline/dead-letters/crash-marks.ts';
import { createDeadLetters } from '../../packages/pipeline/dead-letters/dead-letters.ts';
import { createPublisher, nodeSource, type Publisher } from '../../packages/pipeline/publisher.ts';
import type { PolicySource } from '../../packages/policy/policies.ts';
import { pause } from '../../packages/process/back-off.ts';
import type { ServiceProcess } from '../../packages/service/service-process.ts';
import type { NodeAgentDeps } from '../node-agent/agent.ts';
import { loggedContentReading } from '../node-agent/inventory/content-reading.ts';
import { logReader } from '../node-agent/inventory/log-entries.ts';
import { byTheClock } from '../node-agent/repeat.ts';
import type { OwnFacts } from '../node-executor/checks/own-plan.ts';
import type { ExecutorDeps } from '../node-executor/executor.ts';
import { type ExecutorOptions, filesOnDisk } from '../node-executor/node-files.ts';
import { policyInForce } from '../node-executor/policy-in-force.ts';
import type { ManagedNode } from './managed-node.ts';

/** An executor that stops finishes the removal in hand, which may take as long as the runtime lets one image take. */
export const NODE_SHUTDOWN_LIMIT_MS = CALL_TIMEOUTS.removeImageMs + 20_000;

/** What the services of a node are made of. */
export interface NodeParts {
  readonly process: ServiceProcess;
  readonly node: ManagedNode;
  readonly publisher: Publisher;
  /** Connections to the runtime are closed with it. */
  readonly resources: DisposableStack;
}

export function nodeParts(process: ServiceProcess, node: ManagedNode, resources: DisposableStack): NodeParts {
  const { log, sources } = process;
  const { now, traceIds: ids } = sources;
  const publisher = createPublisher({ log, source: nodeSource(node.identity), now, ids });
  return { process, node, publisher, resources };
}

type Consuming = Pick<
  ConsumerSettings,
  'log' | 'publisher' | 'deadLetters' | 'logger' | 'marks' | 'metrics' | 'now' | 'monotonicNow'
>;

/** What a consumer of this node needs beside its handlers. */
export function nodeConsuming({ process, node, publisher }: NodeParts, group: string): Consuming {
  const { log, logger, metrics, sources } = process;
  const { now, monotonicNow } = sources;
  const deadLetters = createDeadLetters({ publisher, group, metrics, logger, now: monotonicNow });
  const marks = openCrashMarks(node.state.path, `in-hand-${group}`, logger);
  return { log, publisher, deadLetters, logger, marks, metrics, now, monotonicNow };
}

/** `null` where it is not to be asked. */
const containerdOf = (
  { imageLayers, runtimeEndpoint }: ManagedNode,
  resources: DisposableStack,
): ContainerdReader | null => (imageLayers ? resources.use(connectContainerd(runtimeEndpoint)) : null);

/** The agent has connections of its own, which have no removing half. */
export function agentDeps(
  { process, node, publisher, resources }: NodeParts,
  policies: Pick<PolicySource, 'current'>,
): NodeAgentDeps {
  const { identity, nodeLabels, state, clock, pods, podSources } = node;
  const { sources, logger, metrics } = process;
  const containerd = containerdOf(node, resources);
  const runtime = withOtherUses(resources.use(connectReader(node.runtimeEndpoint)), containerd, sources);
  return {
    identity,
    nodeLabels,
    policies: policies.current,
    runtime,
    contents: loggedContentReading({ containerd, clock, logger }),
    filesystems: node.filesystems(runtime),
    logs: logReader(node.logs),
    pods: pods.source,
    podSources,
    state,
    publisher,
    clock,
    sleep: sources.wait,
    repeating: byTheClock(sources.wait),
    random: sources.random,
    logger,
    metrics,
  };
}

/** What only the removing half needs. */
export interface Removing {
  /** The policies as this process follows them itself. */
  readonly policies: Pick<PolicySource, 'current'>;
  readonly options: ExecutorOptions;
}

export function executorDeps(
  { process, node, publisher, resources }: NodeParts,
  { policies, options }: Removing,
  own: OwnFacts,
): ExecutorDeps {
  const { identity, nodeLabels, clock, state, pods } = node;
  const { sources, logger, metrics } = process;
  const containerd = containerdOf(node, resources);
  const runtime = withOtherUses(resources.use(connectRemover(node.runtimeEndpoint)), containerd, sources);
  return {
    node: {
      identity,
      runtime,
      filesystems: node.filesystems(runtime),
      clock,
      state,
      policy: () => policyInForce(policies.current, { ...identity, nodeLabels }),
      takeInventory: own.takeInventory,
      diskHistory: own.diskHistory,
      wantedByPods: pods.wanted,
      podsNow: pods.now,
    },
    files: filesOnDisk(options, { clock, state, logger }),
    publisher,
    sleep: pause,
    random: sources.random,
    logger,
    metrics,
  };
}
