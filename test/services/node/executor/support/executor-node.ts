import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import {
  killable,
  killableState,
  NEVER,
  type ProcessState,
} from '../../../../../lab/sim/fleet-run/node-process.ts';
import type { OutgoingRecord } from '../../../../../packages/log/port.ts';
import { createLogger } from '../../../../../packages/process/logger.ts';
import { createMetrics, type Metrics } from '../../../../../packages/process/metrics.ts';
import { parseRecord, topicIdOf } from '../../../../../packages/records/parse/parse-record.ts';
import { createPublisher } from '../../../../../packages/records/publisher.ts';
import { UNSIGNED } from '../../../../../packages/records/trust/signer.ts';
import type { Command } from '../../../../../schemas/events/command.ts';
import type { CommandResult, ObjectOutcome } from '../../../../../schemas/events/result.ts';
import type { FleetEvent } from '../../../../../schemas/events/topics.ts';
import { IMAGE_HISTORY_FILE, ImageHistoryFile } from '../../../../../schemas/state/image-history.ts';
import { type DiskHistory, NO_DISK_HISTORY } from '../../../../../services/node/agent/disks.ts';
import type { PodsNow, PolicyInForce } from '../../../../../services/node/executor/checks.ts';
import type { WantedPod } from '../../../../../services/node/executor/facts.ts';
import type { TakeInventory } from '../../../../../services/node/executor/own-plan.ts';
import {
  createNodeExecutor,
  type ExecutorDeps,
  filesOnDisk,
  type NodeExecutor,
} from '../../../../../services/node/executor/run.ts';
import { input } from '../../../../fixtures/input.ts';
import { NODE } from '../../../../fixtures/inventory.ts';
import { digestOf, listedContainer, listedSandbox, runtimeImage } from '../../../../fixtures/listing.ts';
import { instant } from '../../../../fixtures/time.ts';
import { logLines } from '../../../../support/log-lines.ts';
import { countedIds, NOW_MS, onLog } from '../../../../support/logs/log-record.ts';
import { madeUpPositions } from '../../../../support/logs/made-up-positions.ts';
import { type ManualClock, manualClock } from '../../../../support/manual-clock.ts';
import { patiently } from '../../../../support/patience.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';
import { AGREEING_POLICY, agreeingInventory } from './agreeing-inventory.ts';
import { type FakeRuntime, fakeRuntime } from './fake-runtime.ts';
import { type MemoryState, memoryState } from './memory-state.ts';

const WAIT_MS = patiently(10_000);
export const POD_LABELS = {
  'io.kubernetes.pod.uid': 'pod-1',
  'io.kubernetes.pod.name': 'web',
  'io.kubernetes.pod.namespace': 'default',
};

/** A node with a fake runtime, on which executors run one after the other. */
export interface ExecutorNode {
  readonly runtime: FakeRuntime;
  readonly clock: ManualClock;
  readonly state: MemoryState;
  readonly podLogsDir: string;
  readonly containerLogsDir: string;
  readonly localFile: string;
  readonly metrics: Metrics;
  readonly logLines: readonly string[];
  /** Every event, in the order in which the log acknowledged it. */
  readonly published: FleetEvent[];
  wantedByPods: readonly WantedPod[];
  /** As it is at a start. */
  podsNow: PodsNow | null;
  /** What the policies say; by default everything may go. */
  /** Whether the key of a command counts at this moment; why not. */
  objectionTo: (keyId: string | null) => string | null;
  policy: () => PolicyInForce;
  /** What the node sees of itself; by default that everything may go. */
  takeInventory: TakeInventory;
  /** What its disks had free before. */
  diskHistory: DiskHistory;
  /** Called before the log takes a publish; throws to refuse it, or waits. */
  beforePublish: (records: readonly OutgoingRecord[]) => void | Promise<void>;
  /** Sleeps of executors, in ms; time passes with them. */
  readonly slept: number[];
  /** What ends each of its waits early. */
  readonly sleepSignals: (AbortSignal | undefined)[];
  /** A new process of the executor; it runs until it is stopped or the test ends. */
  start(): RunningExecutor;
  outcomes(commandId?: string): Readonly<Record<string, ObjectOutcome>>;
  result(commandId?: string): CommandResult['result'] | undefined;
}

export interface RunningExecutor {
  readonly executor: NodeExecutor;
  readonly metrics: Metrics;
  receive(command: Command): Promise<void>;
  /** Receives the command and waits for its end. */
  carryOut(command: Command): Promise<CommandResult['result']>;
  /** As SIGTERM does; resolves when the executor ended. */
  stop(): Promise<void>;
  /** As SIGKILL does: whatever it does from now on has no effect, and nothing answers it. */
  kill(): void;
}

/** With a state directory of its own, also where `shared` says that the machine is another's. */
export function executorNode(shared: Partial<Pick<ExecutorNode, 'runtime' | 'clock'>> = {}): ExecutorNode {
  const directory = temporaryDirectory();
  const { clock = manualClock(), runtime = fakeRuntime() } = shared;
  const lines = logLines();
  const node: ExecutorNode = {
    runtime,
    clock,
    state: memoryState(),
    podLogsDir: join(directory, 'pods'),
    containerLogsDir: join(directory, 'containers'),
    localFile: join(directory, 'local.yaml'),
    metrics: createMetrics(),
    logLines: lines.lines,
    published: [],
    wantedByPods: [],
    podsNow: async () => [],
    objectionTo: () => null,
    policy: () => ({ kind: 'enforced', record: AGREEING_POLICY }),
    takeInventory: async (reclaim) =>
      agreeingInventory(
        {
          ...node,
          images: [...runtime.images.values()],
          containers: [...runtime.containers.values()],
          sandboxes: [...runtime.sandboxes.values()],
        },
        clock.now(),
        reclaim,
      ),
    diskHistory: NO_DISK_HISTORY,
    beforePublish: () => undefined,
    slept: [],
    sleepSignals: [],
    start: () => startExecutor(node, { logger: createLogger({ service: 'test', level: 'info' }, lines) }),
    outcomes: (commandId = 'command-1') => outcomesOf(node.published, commandId),
    result: (commandId = 'command-1') => resultOf(node.published, commandId),
  };
  mkdirSync(node.podLogsDir);
  mkdirSync(node.containerLogsDir);
  return node;
}

function startExecutor(node: ExecutorNode, { logger }: Pick<ExecutorDeps, 'logger'>): RunningExecutor {
  const stopping = new AbortController();
  const life: ProcessState = { dead: false };
  const runtime = killable(node.runtime, life);
  const state = killableState(node.state, life);
  const metrics = createMetrics();
  const executor = createNodeExecutor({
    node: {
      trust: { objectionTo: (_topic, keyId) => node.objectionTo(keyId) },
      identity: NODE,
      runtime,
      filesystems: runtime,
      clock: node.clock,
      state,
      policy: () => node.policy(),
      takeInventory: (reclaim, actions) => node.takeInventory(reclaim, actions),
      diskHistory: () => node.diskHistory,
      wantedByPods: () => node.wantedByPods,
      podsNow: node.podsNow,
    },
    files: filesOnDisk(
      { ...node, localFile: { path: node.localFile, isNamed: false } },
      { clock: node.clock, state, logger },
    ),
    publisher: killable(publisherOf(node), life),
    sleep: async (ms, signal) => {
      if (life.dead) await NEVER;
      if (signal?.aborted) return;
      node.sleepSignals.push(signal);
      node.slept.push(ms);
      node.clock.advance(ms);
      await setImmediate();
    },
    random: () => 0,
    logger,
    metrics,
  });
  const running = executor.run(stopping.signal);
  const stop = async (): Promise<void> => {
    stopping.abort();
    await running;
  };
  onTestFinished(() => stopping.abort());
  const receive = async (command: Command): Promise<void> => {
    await executor.commands(input('commands', command));
  };
  return {
    executor,
    metrics,
    receive,
    stop,
    kill: () => {
      life.dead = true;
    },
    carryOut: async (command) => {
      await receive(command);
      return until(`the end of ${command.id}`, () => node.result(command.id));
    },
  };
}

const publisherOf = (node: ExecutorNode) =>
  createPublisher({
    signer: UNSIGNED,
    log: {
      publish: async (records) => {
        await node.beforePublish(records);
        node.published.push(...records.map(eventOf));
        return madeUpPositions(records);
      },
    },
    source: '/fleetgc/prod/web-1',
    now: () => NOW_MS,
    ids: countedIds(),
  });

/** As a consumer reads it, so that what no consumer would take fails the test. */
function eventOf(record: OutgoingRecord): FleetEvent {
  const parsed = parseRecord(topicIdOf(record.topic), onLog(record));
  if (parsed.ok) return parsed.event;
  throw new Error(`published what nobody can read: ${parsed.rejection.message}`);
}

const outcomesOf = (events: readonly FleetEvent[], commandId: string): Record<string, ObjectOutcome> =>
  Object.fromEntries(
    events.flatMap((event) =>
      event.type === 'fleetgc.node.object-result' && event.commandId === commandId
        ? [[event.object.id, event.result] as const]
        : [],
    ),
  );

const resultOf = (events: readonly FleetEvent[], commandId: string): CommandResult['result'] | undefined =>
  events
    .flatMap((event) =>
      event.type === 'fleetgc.node.command-result' && event.commandId === commandId ? [event.result] : [],
    )
    .at(-1);

/** The first value of `probe`, which is asked at every turn of the event loop. */
export async function until<T>(what: string, probe: () => T | undefined): Promise<T> {
  const deadline = performance.now() + WAIT_MS;
  while (performance.now() < deadline) {
    const value = probe();
    if (value !== undefined) return value;
    await setImmediate();
  }
  throw new Error(`waited ${WAIT_MS} ms for: ${what}`);
}

/** Puts images of `sizeBytes` on the node that nobody uses; returns their ids. */
export function addImages(
  { runtime, state }: ExecutorNode,
  names: readonly string[],
  sizeBytes = 10n,
): string[] {
  return names.map((name) => {
    const image = runtimeImage(name, { sizeBytes });
    runtime.images.set(image.id, image);
    knowImage(state, image.id);
    return image.id;
  });
}

/** As an agent does that has seen the image for long and never in use. */
export function knowImage({ files }: MemoryState, id: string): void {
  const kept = ImageHistoryFile.safeParse(JSON.parse(files.get(IMAGE_HISTORY_FILE) ?? 'null')).data;
  const known = kept?.images ?? [];
  const file: ImageHistoryFile = {
    version: 1,
    at: instant(),
    watchedSinceMs: 0,
    clockSteadySince: instant(),
    images: [...known, [id, 0, null]],
  };
  files.set(IMAGE_HISTORY_FILE, JSON.stringify(file));
}

/** Puts an exited container of the pod `pod-1` with its log and its flat symlink on the node. */
export function addContainer(
  node: ExecutorNode,
  id: string,
  over: Parameters<typeof listedContainer>[1] = {},
): string {
  const logPath = join(node.podLogsDir, 'default_web_pod-1', 'app', `${id}.log`);
  mkdirSync(dirname(logPath), { recursive: true });
  writeFileSync(logPath, 'a line\n');
  const container = listedContainer(id, {
    state: 'exited',
    labels: POD_LABELS,
    imageId: digestOf('some image of containers'),
    sandboxId: 'elsewhere',
    logPath,
    ...over,
  });
  node.runtime.containers.set(id, container);
  return container.logPath;
}

export function addSandbox(
  { runtime }: ExecutorNode,
  id: string,
  over: Parameters<typeof listedSandbox>[1] = {},
): void {
  const image = runtime.sandboxImage;
  runtime.sandboxes.set(id, listedSandbox(id, { state: 'notReady', labels: POD_LABELS, image, ...over }));
}
