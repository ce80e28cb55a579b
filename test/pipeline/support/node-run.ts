import { z } from 'zod';
import { killable, killableState, type ProcessState } from '../../../lab/sim/fleet-run/node-process.ts';
import type { SimulatedNode } from '../../../lab/sim/node.ts';
import { withOtherUses } from '../../../packages/cri/containerd/other-uses.ts';
import { connectContainerd } from '../../../packages/cri/containerd/reader.ts';
import { type PolicySource, startPolicySource } from '../../../packages/policy/policies.ts';
import { runTogether } from '../../../packages/process/loops.ts';
import { createMetrics } from '../../../packages/process/metrics.ts';
import { startConsumer } from '../../../packages/records/consume.ts';
import { NO_MARKS } from '../../../packages/records/dead-letters/crash-marks.ts';
import { createDeadLetters } from '../../../packages/records/dead-letters/dead-letters.ts';
import { createAgentPublisher } from '../../../packages/records/latest-facts.ts';
import { nodeSource } from '../../../packages/records/publisher.ts';
import { consumeUntil } from '../../../packages/service/consume-until.ts';
import { byTheClock, NodeAgent } from '../../../services/node/agent/agent.ts';
import { loggedContentReading } from '../../../services/node/agent/contents.ts';
import { podLogReader } from '../../../services/node/agent/pod-logs.ts';
import { policyInForce } from '../../../services/node/executor/checks.ts';
import { JOURNAL_FILE } from '../../../services/node/executor/journal.ts';
import { createNodeExecutor, filesOnDisk, nodeSubscription } from '../../../services/node/executor/run.ts';
import { cachePods } from '../../../services/node/managed-node.ts';
import { NODE } from '../../fixtures/inventory.ts';
import type { MemoryState } from '../../services/node/executor/support/memory-state.ts';
import { directRuntime } from '../../support/runtime/direct-connection.ts';
import type { Surroundings } from './surroundings.ts';

export interface NodeRunParts extends Surroundings {
  readonly node: SimulatedNode;
  /** Outlives the process, as on a disk. */
  readonly state: MemoryState;
  readonly localFile: string;
}

/** Agent and executor of one node in one process. */
export interface NodeRun {
  readonly policies: PolicySource;
  /** What it has in hand, beside waiting for time to pass; `null` when nothing. */
  busyWith(): string | null;
  /** As SIGTERM does. */
  stop(): Promise<void>;
  /** As SIGKILL does: whatever it does from now on has no effect, and nothing answers it. */
  kill(): void;
}

/** Sampling, detecting, saving, taking inventories, and two queues sleep when an agent has nothing to do. */
const AGENT_LOOPS = 6;

export async function startNode(parts: NodeRunParts): Promise<NodeRun> {
  const { node, time, log: wholeLog, logger } = parts;
  const life: ProcessState = { dead: false };
  const log = killable(wholeLog, life);
  const state = killableState(parts.state, life);
  const metrics = createMetrics();
  const containerd = node.containerd && connectContainerd(node.endpoint);
  const runtime = killable(withOtherUses(directRuntime(node), containerd, parts), life);
  const [agentSleepers, executorSleepers] = [time.sleepers(), time.sleepers()];
  const { now, monotonicNow, ids, random } = parts;
  const { trust, keys, seen } = parts.trust;
  const { publisher } = createAgentPublisher(
    { signer: parts.nodeSigner, log, source: nodeSource(NODE), now, ids },
    { monotonicNow, logger },
  );
  const policies = startPolicySource({
    trust,
    seen,
    log: wholeLog,
    logger,
    metrics,
    recheckMs: null,
    sources: { now: monotonicNow, random, wait: parts.wait },
  });
  keys?.onChange(() => policies.readAgain());
  const pods = cachePods(node.kubelet, ['api']);
  const clock = { now: () => time.now() };
  const agent = new NodeAgent({
    identity: NODE,
    nodeLabels: {},
    policies: policies.current.node,
    runtime,
    contents: loggedContentReading({
      containerd: containerd && killable(containerd, life),
      importsLookPulled: false,
      clock,
      logger,
    }),
    filesystems: node.filesystems,
    podLogs: podLogReader(node),
    pods: pods.source,
    podSources: ['api'],
    state,
    publisher,
    clock,
    sleep: agentSleepers.sleep,
    schedule: byTheClock(agentSleepers.sleep),
    random,
    logger,
    metrics,
  });
  const executor = createNodeExecutor({
    node: {
      trust,
      identity: NODE,
      runtime,
      filesystems: node.filesystems,
      clock,
      state,
      policy: () => policyInForce(policies.current.node, { ...NODE, nodeLabels: {} }),
      takeInventory: agent.takeInventory,
      diskHistory: agent.diskHistory,
      wantedByPods: pods.wanted,
      podsNow: pods.now,
    },
    files: filesOnDisk(
      { ...node, localFile: { path: parts.localFile, isNamed: false } },
      { clock, state, logger },
    ),
    publisher,
    sleep: executorSleepers.sleep,
    random,
    logger,
    metrics,
  });
  const subscription = nodeSubscription(NODE);
  const consumer = await startConsumer({
    trust,
    ...subscription,
    name: 'node',
    log,
    handlers: { observe: agent.observe, commands: executor.commands },
    onRejection: executor.onRejection,
    publisher,
    deadLetters: createDeadLetters({
      publisher,
      group: subscription.group,
      metrics,
      logger,
      now: monotonicNow,
    }),
    logger,
    marks: NO_MARKS,
    metrics,
    now,
    monotonicNow,
  });
  const stopping = new AbortController();
  const ended = runTogether(
    [agent.run, executor.run, (signal) => consumeUntil(signal, [consumer])],
    stopping.signal,
  );
  const isIdle = journalWatch(parts.state);
  let stage: 'running' | 'stopping' | 'gone' = 'running';
  const killed = Promise.withResolvers<void>();
  // Commands that it did not begin stay in the journal.
  const over = Promise.race([ended, killed.promise]).finally(() => {
    stage = 'gone';
  });
  over.catch(() => undefined);
  const close = async (): Promise<void> => {
    containerd?.[Symbol.dispose]();
    await policies[Symbol.asyncDispose]();
  };
  return {
    policies,
    busyWith: () => {
      if (stage === 'gone') return null;
      if (stage === 'running' && agentSleepers.count() < AGENT_LOOPS) return 'the agent';
      return isIdle() || executorSleepers.count() > 0 ? null : 'the executor';
    },
    stop: async () => {
      if (life.dead) return;
      stage = 'stopping';
      stopping.abort();
      await time.passDuring(over);
      if (!life.dead) await close();
    },
    kill: () => {
      stage = 'gone';
      life.dead = true;
      killed.resolve();
      void consumer.stop();
      void close();
    },
  };
}

const Waiting = z.object({ entries: z.array(z.unknown()), unpublished: z.array(z.unknown()) });

/** Whether the journal holds nothing to do and nothing to report. */
function journalWatch({ files }: Pick<MemoryState, 'files'>): () => boolean {
  let seen: string | undefined;
  let isIdle = true;
  return () => {
    const content = files.get(JOURNAL_FILE);
    if (content === undefined || content === seen) return isIdle;
    const { entries, unpublished } = Waiting.parse(JSON.parse(content));
    seen = content;
    isIdle = entries.length === 0 && unpublished.length === 0;
    return isIdle;
  };
}
