import { resolve } from 'node:path';
import type { Logger } from 'pino';
import type { RuntimeReader, RuntimeRemover } from '../../../packages/cri/port.ts';
import type { Handler } from '../../../packages/decision/handler.ts';
import type { EventLog } from '../../../packages/log/port.ts';
import type { NodeClock } from '../../../packages/machine/clock.ts';
import type { FilesystemReader } from '../../../packages/machine/filesystem.ts';
import type { PodLogRoots } from '../../../packages/machine/pod-log-roots.ts';
import type { StateDirectory } from '../../../packages/machine/state-directory.ts';
import type { Sleep } from '../../../packages/process/backoff.ts';
import { LinkedController } from '../../../packages/process/linked-controller.ts';
import type { Metrics } from '../../../packages/process/metrics.ts';
import { distrustOf } from '../../../packages/records/commands.ts';
import { type Consumer, type ConsumerSettings, startConsumer } from '../../../packages/records/consume.ts';
import type { CrashMarks } from '../../../packages/records/dead-letters/crash-marks.ts';
import type { DeadLetters } from '../../../packages/records/dead-letters/dead-letters.ts';
import type { OnRejection } from '../../../packages/records/decide.ts';
import type { Publisher } from '../../../packages/records/publisher.ts';
import type { Trust } from '../../../packages/records/trust/trust.ts';
import type { Command } from '../../../schemas/events/command.ts';
import type { DiskStats } from '../../../schemas/events/disk-stats.ts';
import { type NodeIdentity, nodeKey } from '../../../schemas/events/identity.ts';
import { MAX_COMMAND_LIFETIME_MS } from '../../../schemas/events/subject-headers.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import { IMAGE_HISTORY_FILE, ImageHistoryFile } from '../../../schemas/state/image-history.ts';
import { openBackoff } from './backoff.ts';
import type { PodsNow, PolicyInForce, Restrictions } from './checks.ts';
import { Executor } from './executor.ts';
import { runtimeFacts, type WantedPod } from './facts.ts';
import { type Journal, openJournal } from './journal.ts';
import { Judge } from './judge.ts';
import { createLateRemovals, openRemovedImages } from './late-removals.ts';
import {
  followLocalRules,
  type LocalFileOption,
  type LocalRules,
  type LocalRulesParts,
} from './local-rules.ts';
import { Gauge } from './measure.ts';
import { addJournalMetrics, CommandSpans, createExecutorMetrics } from './metrics.ts';
import { Planner, type TakeInventory } from './own-plan.ts';
import { openDirectory, type PodLogAccess } from './pod-logs.ts';
import { journalOutbox } from './publish.ts';
import { receiveCommands, refuseRejected } from './receive.ts';
import { Remover } from './remove.ts';
import type { Reporter } from './reports.ts';

/** The node as the executor sees it. */
interface ExecutorNode {
  readonly identity: NodeIdentity;
  readonly runtime: RuntimeReader & RuntimeRemover;
  readonly filesystems: FilesystemReader;
  readonly clock: NodeClock;
  readonly state: StateDirectory;
  /** What the policies that this process follows say of the node. */
  readonly policy: () => PolicyInForce;
  /** Whose commands count. */
  readonly trust: Pick<Trust, 'objectionTo'>;
  readonly takeInventory: TakeInventory;
  readonly diskHistory: () => DiskStats['history'];
  /** Pods that the kubelet told of, where the process knows; else none. */
  readonly wantedByPods: () => readonly WantedPod[] | null;
  /** Asks which pods there are at this moment; `null` where no source of pods is configured. */
  readonly podsNow: PodsNow | null;
}

export interface ExecutorDeps {
  readonly node: ExecutorNode;
  readonly files: NodeFiles;
  readonly publisher: Publisher;
  readonly sleep: Sleep;
  /** From 0 up to 1, for backoff. */
  readonly random: () => number;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** The two halves of an executor, to be composed with a consumer. */
export interface NodeExecutor {
  /** For the topic of commands. */
  readonly commands: Handler<Command>;
  readonly onRejection: OnRejection;
  /**
   * Carries out and reports what the journal holds, until `signal` aborts; then the removal in hand is finished, which
   * can take as long as the runtime lets an image removal take, and what the log takes within 2 s is published.
   */
  run(signal: AbortSignal): Promise<void>;
}

/**
 * A process that just started has not read the policies yet; commands of its journal wait so long for them.
 * @limit Wait of a journaled command for policies after a restart.
 */
const POLICIES_WAIT_MS = 10_000;
const POLICIES_POLL_MS = 50;

/**
 * Builds the executor of a node from its parts: `receive.ts` takes commands into the journal, `executor.ts` carries them out, and
 * `publish.ts` brings the results to the log.
 */
export function createNodeExecutor(deps: ExecutorDeps): NodeExecutor {
  const { node, files, publisher, sleep, logger } = deps;
  const { identity, clock, runtime, state } = node;
  const { podLogs } = files;
  const journal = openJournal({ directory: state, now: clock.now(), logger });
  const metrics = createExecutorMetrics(deps.metrics);
  addJournalMetrics(deps.metrics, journal);
  const reporter = (): Reporter => ({ identity, at: clock.now(), journal: journal.kept() });
  const receiver = { identity, journal, clock, reporter, logger, metrics };
  const backoff = openBackoff(state, logger);
  const removedImages = openRemovedImages(state, logger);
  const lateRemovals = createLateRemovals({ ...node, journal, backoff, removedImages, sleep, logger });
  const restrictions = async (): Promise<Restrictions> => {
    const local = await files.localRules();
    const { lastActions, removalRate } = journal.state();
    return {
      policy: node.policy(),
      distrustOf: (commandId) => distrustIn(journal, commandId, node),
      local,
      backoff: backoff.entries(),
      lastActions,
      removalRate,
    };
  };
  const history = state.openReadOnly(IMAGE_HISTORY_FILE, ImageHistoryFile);
  const readFacts = runtimeFacts({ ...node, sleep, history, onImages: lateRemovals.seen });
  const lastActions = (): readonly Instant[] =>
    Object.values(journal.state().lastActions).flatMap((action) => (action === null ? [] : [action.at]));
  const executor = new Executor({
    journal,
    clock,
    sleep,
    reporter,
    restrictions,
    planner: new Planner({ ...node, lastActions }, restrictions, clock),
    judge: new Judge({ clock, readFacts, podsNow: node.podsNow, restrictions, podLogs }),
    remover: new Remover(runtime, podLogs, readFacts, sleep),
    gauge: new Gauge(node.filesystems, clock, sleep),
    backoff,
    removedImages,
    lateRemovals,
    metrics,
    spans: publisher.tracer && new CommandSpans(publisher.tracer, clock),
    logger,
  });
  return {
    commands: receiveCommands(receiver),
    onRejection: refuseRejected(receiver),
    run: async (signal) => {
      const stop = new AbortController();
      void lateRemovals.watch(stop.signal);
      const outbox = journalOutbox(journal, deps, () => clock.now().wallTimeMs);
      const telling = new AbortController();
      const publishing = outbox.run(telling.signal);
      try {
        // Seen once, it is missed after a restart also where nothing was removed meanwhile.
        await files.localRules();
        await policiesReadable(node, sleep, signal);
        await executor.run(signal);
        telling.abort();
        await outbox.last(publishing);
      } finally {
        telling.abort();
        stop.abort();
      }
    },
  };
}

/** Why the key that signed a command of the journal does not count. */
function distrustIn(journal: Journal, commandId: string, { trust, identity }: ExecutorNode): string | null {
  const entry = journal.state().entries.find(({ command }) => command.id === commandId);
  return distrustOf(trust, 'commands', { keyId: entry?.signedBy ?? null, key: nodeKey(identity) });
}

async function policiesReadable(node: ExecutorNode, sleep: Sleep, signal: AbortSignal): Promise<void> {
  for (let waitedMs = 0; waitedMs < POLICIES_WAIT_MS; waitedMs += POLICIES_POLL_MS) {
    if (signal.aborted || node.policy().kind !== 'unreadable') return;
    await sleep(POLICIES_POLL_MS, signal);
  }
}

/**
 * How a node reads its orders: the partition of its key, from before every order that can still be alive. Agent and
 * executor share one consumer where they share a process.
 */
export const nodeSubscription = (
  identity: NodeIdentity,
): Pick<ConsumerSettings, 'group' | 'start' | 'assignment'> => ({
  group: `fleetgc-node-${identity.nodeInstance}`,
  start: 'latest',
  assignment: { kind: 'key', key: nodeKey(identity), lookBackMs: MAX_COMMAND_LIFETIME_MS },
});

interface NodeExecutorDeps extends ExecutorDeps {
  readonly log: EventLog;
  readonly trust: Trust;
  readonly deadLetters: DeadLetters;
  /** Count which processes ended over a message. */
  readonly marks: CrashMarks;
  /** Told of the consumer once it runs, for readiness. */
  readonly onStarted: (consumer: Consumer) => void;
}

/** Runs an executor on its own until `signal` aborts. */
export async function runNodeExecutor(deps: NodeExecutorDeps, signal: AbortSignal): Promise<void> {
  const { node, log, trust, publisher, deadLetters, logger, metrics, onStarted } = deps;
  const executor = createNodeExecutor(deps);
  await using consumer = await startConsumer({
    ...nodeSubscription(node.identity),
    name: 'node-executor',
    log,
    trust,
    handlers: { commands: executor.commands },
    onRejection: executor.onRejection,
    publisher,
    deadLetters,
    logger,
    marks: deps.marks,
    metrics,
    now: () => node.clock.now().wallTimeMs,
    monotonicNow: () => node.clock.now().sinceBootMs,
  });
  onStarted(consumer);
  using ending = new LinkedController(signal);
  const running = executor.run(ending.signal);
  try {
    await Promise.race([consumer.finished, running]);
  } finally {
    // Also when the consumer failed, the removal in hand is finished.
    ending.abort();
    await running;
  }
}

/** What of the node's files an executor reads and removes, beside its state. */
export interface NodeFiles {
  readonly podLogs: PodLogAccess;
  /** The node's last word at this moment. */
  localRules(): Promise<LocalRules>;
}

export interface ExecutorOptions extends PodLogRoots {
  /** The node's own file, which no order can widen. */
  readonly localFile: LocalFileOption;
}

/** Those of a real node. */
export const filesOnDisk = (
  { podLogsDir, containerLogsDir, localFile }: ExecutorOptions,
  parts: LocalRulesParts,
): NodeFiles => ({
  podLogs: {
    podLogsDir: resolve(podLogsDir),
    containerLogsDir: resolve(containerLogsDir),
    openDirectory,
  },
  localRules: followLocalRules(localFile, parts),
});
