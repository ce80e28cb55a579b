import { setImmediate } from 'node:timers/promises';
import type { LogRecord, OutgoingRecord } from '../../../../packages/log/port.ts';
import { decide } from '../../../../packages/records/decide.ts';
import { parseBelieved } from '../../../../packages/records/parse/parse-believed.ts';
import type { ParsedRecord } from '../../../../packages/records/parse/parse-record.ts';
import { createPublisher } from '../../../../packages/records/publisher.ts';
import { UNSIGNED } from '../../../../packages/records/trust/signer.ts';
import type { Command } from '../../../../schemas/events/command.ts';
import { IMAGE_HISTORY_FILE, type ImageHistoryFile } from '../../../../schemas/state/image-history.ts';
import { NO_DISK_HISTORY } from '../../../../services/node/agent/disks.ts';
import { observeHandler, whyUnjustified } from '../../../../services/node/agent/orders.ts';
import { NO_LOCAL_RULES } from '../../../../services/node/executor/local-rules.ts';
import { createNodeExecutor, type NodeExecutor } from '../../../../services/node/executor/run.ts';
import { filesystems } from '../../../../test/fixtures/filesystems.ts';
import { NODE } from '../../../../test/fixtures/inventory.ts';
import { listedContainer, listedSandbox, runtimeImage } from '../../../../test/fixtures/listing.ts';
import { policySet } from '../../../../test/fixtures/policy.ts';
import { instant } from '../../../../test/fixtures/time.ts';
import {
  AGREEING_POLICY,
  agreeingInventory,
} from '../../../../test/services/node/executor/support/agreeing-inventory.ts';
import { fakeRuntime } from '../../../../test/services/node/executor/support/fake-runtime.ts';
import { memoryState } from '../../../../test/services/node/executor/support/memory-state.ts';
import { countedIds } from '../../../../test/support/logs/log-record.ts';
import { madeUpPositions } from '../../../../test/support/logs/made-up-positions.ts';
import { manualClock } from '../../../../test/support/manual-clock.ts';
import { NO_METRICS, SILENT } from '../../../../test/support/silent.ts';
import { type Outcome, PASSED, REFUSED } from '../../engine/target.ts';
import { isToBeRefused, type Signatories, TAKEN_AT_MS } from './claims.ts';
import { readable, SILENT_PUBLISHER } from './deciding.ts';
import type { ReadMessage } from './topic-readers.ts';

const effect = (what: string): Outcome => ({ passed: true, effect: what });

/** The agent of a node whose disk is full enough for whatever is ordered. */
export const agentReader = ({ trust }: Signatories): ReadMessage => {
  const parse = parseBelieved(trust);
  return async ({ record, claim }) => {
    let accepted = 0;
    const observe = observeHandler({
      self: NODE,
      clock: { now: () => instant() },
      whyUnjustified: (order) =>
        whyUnjustified(order, {
          node: { ...NODE, nodeLabels: {} },
          policies: () => policySet(),
          readings: () => ({
            filesystems: filesystems({ availableBytes: '1' }),
            history: NO_DISK_HISTORY,
            nowMs: instant().sinceBootMs,
          }),
        }),
      accept: () => {
        accepted += 1;
        return 'accepted';
      },
      metrics: { orders: { add: () => undefined } },
      logger: SILENT,
    });
    const parsed = parse('observe', record);
    const handling = { handlers: { observe }, publisher: SILENT_PUBLISHER };
    const { failure } = await decide('observe', { kind: 'read', record, parsed }, handling);
    if (failure?.error !== undefined) throw failure.error.cause ?? failure.error;
    if (accepted > 0 && isToBeRefused(claim, 'observe'))
      return effect(`an order that is ${claim} is followed`);
    return parsed.ok ? PASSED : REFUSED;
  };
};

const PODS = '/nowhere/pods';
const POD_LABELS = {
  'io.kubernetes.pod.uid': 'pod-1',
  'io.kubernetes.pod.name': 'web',
  'io.kubernetes.pod.namespace': 'default',
};
const RUNNING_LABELS = {
  'io.kubernetes.pod.uid': 'pod-2',
  'io.kubernetes.pod.name': 'db',
  'io.kubernetes.pod.namespace': 'default',
};
const IMAGES = ['a', 'b'].map((name) => runtimeImage(name));
export const IMAGE_IDS = IMAGES.map(({ id }) => id);
const USED = runtimeImage('used');
const OF_SANDBOXES = runtimeImage('pause', { repoTags: ['registry.k8s.io/pause:3.10'] });
const CONTAINERS = ['container-1', 'container-2'];
/** What is in use, whatever a command says of it. */
const STAYING: readonly string[] = [USED.id, OF_SANDBOXES.id, 'running', 'sandbox'];
const TURNS = 2_000;

/** A node with images that may go and one that may not, and what its executor does there with one message. */
class ExecutorNode {
  readonly runtime = fakeRuntime();
  readonly published: OutgoingRecord[] = [];
  readonly executor: NodeExecutor;
  readonly #clock = manualClock();
  readonly #state = memoryState();
  readonly #publisher = createPublisher({
    signer: UNSIGNED,
    log: {
      publish: async (records) => {
        this.published.push(...records);
        return madeUpPositions(records);
      },
    },
    source: '/fleetgc/prod/web-1',
    now: () => TAKEN_AT_MS,
    ids: countedIds(),
  });

  constructor({ trust }: Signatories) {
    const { runtime } = this;
    const image = runtime.sandboxImage;
    for (const image of [...IMAGES, USED, OF_SANDBOXES]) runtime.images.set(image.id, image);
    for (const id of CONTAINERS)
      runtime.containers.set(
        id,
        listedContainer(id, {
          state: 'exited',
          labels: POD_LABELS,
          imageId: 'gone',
          sandboxId: 'elsewhere',
          logPath: `${PODS}/default_web_pod-1/app/0.log`,
        }),
      );
    runtime.containers.set(
      'running',
      listedContainer('running', { labels: RUNNING_LABELS, imageId: USED.id }),
    );
    // Of the one that runs.
    runtime.sandboxes.set(
      'sandbox',
      listedSandbox('sandbox', { podUid: 'pod-2', labels: RUNNING_LABELS, image }),
    );
    runtime.sandboxes.set(
      'sandbox-1',
      listedSandbox('sandbox-1', { podUid: 'pod-1', state: 'notReady', labels: POD_LABELS, image }),
    );
    this.#knowImages();
    this.executor = createNodeExecutor({
      node: {
        trust,
        identity: NODE,
        runtime,
        filesystems: runtime,
        clock: this.#clock,
        state: this.#state,
        policy: () => ({ kind: 'enforced', record: AGREEING_POLICY }),
        takeInventory: async (reclaim) => this.#inventory(reclaim),
        diskHistory: () => NO_DISK_HISTORY,
        wantedByPods: () => [],
        podsNow: async () => [],
      },
      files: {
        podLogs: { podLogsDir: PODS, containerLogsDir: PODS, openDirectory: async () => EMPTY_DIRECTORY },
        localRules: async () => NO_LOCAL_RULES,
      },
      publisher: this.#publisher,
      sleep: async (ms, signal) => {
        if (signal?.aborted) return;
        this.#clock.advance(ms);
        await setImmediate();
      },
      random: () => 0,
      logger: SILENT,
      metrics: NO_METRICS,
    });
  }

  #inventory(reclaim: Parameters<typeof agreeingInventory>[2]) {
    const { images, containers, sandboxes } = this.runtime;
    const holding = {
      images: [...images.values()],
      containers: [...containers.values()],
      sandboxes: [...sandboxes.values()],
      podLogsDir: PODS,
      containerLogsDir: PODS,
    };
    return agreeingInventory(holding, this.#clock.now(), reclaim);
  }

  #knowImages(): void {
    const file: ImageHistoryFile = {
      version: 1,
      at: instant(),
      watchedSinceMs: 0,
      clockSteadySince: instant(),
      images: IMAGE_IDS.map((id) => [id, 0, null]),
    };
    this.#state.files.set(IMAGE_HISTORY_FILE, JSON.stringify(file));
  }

  get publisher() {
    return this.#publisher;
  }

  get hasJournal(): boolean {
    return this.#state.files.has('journal');
  }

  /** Until what is in the journal has its result. */
  async carryOut(): Promise<void> {
    const stopping = new AbortController();
    const running = this.executor.run(stopping.signal);
    const isDone = (): boolean => this.published.some(({ headers }) => headers.ce_type === COMMAND_RESULT);
    for (let turn = 0; turn < TURNS && !isDone(); turn += 1) await setImmediate();
    stopping.abort();
    await running;
    if (!isDone()) throw new Error('a command that was taken has no result');
  }
}

const COMMAND_RESULT = 'fleetgc.node.command-result.v1';

const EMPTY_DIRECTORY = {
  path: PODS,
  names: async () => [],
  lstat: async () => null,
  stat: async () => null,
  unlink: async () => undefined,
  rmdir: async () => undefined,
  open: async () => null,
  [Symbol.asyncDispose]: async () => undefined,
};

/** The ids of what goes when this command is carried out. */
export async function goneBy(record: LogRecord, signatories: Signatories): Promise<readonly string[]> {
  const node = new ExecutorNode(signatories);
  await received(node, record, parseBelieved(signatories.trust)('commands', record));
  if (node.hasJournal) await node.carryOut();
  return node.runtime.gone;
}

/** From the record to the removals, on a node whose policy lets everything go that is not in use. */
export const executorReader = (signatories: Signatories): ReadMessage => {
  const parse = parseBelieved(signatories.trust);
  return async ({ record, claim }) => {
    const node = new ExecutorNode(signatories);
    const parsed = parse('commands', record);
    const answered = await received(node, record, parsed);
    if (answered !== null) return effect(answered);
    if (node.hasJournal && isToBeRefused(claim, 'commands'))
      return effect(`a command that is ${claim} is taken`);
    if (node.hasJournal) await node.carryOut();
    return judged(node, parsed.ok ? parsed.event : null);
  };
};

/** What is wrong with the answer to a message, a sentence; `null` where nothing is. */
async function received(
  { executor, publisher }: ExecutorNode,
  record: LogRecord,
  parsed: ParsedRecord<Command>,
): Promise<string | null> {
  const handling = {
    handlers: { commands: executor.commands },
    onRejection: executor.onRejection,
    publisher,
  };
  const { failure, stages } = await decide('commands', { kind: 'read', record, parsed }, handling);
  if (failure?.error !== undefined) throw failure.error.cause ?? failure.error;
  return readable(stages.flat());
}

/** What went has to be named by the command, and not in use. */
function judged({ runtime, published }: ExecutorNode, command: Command | null): Outcome {
  const named = new Set<string>(command?.items.map(({ id }) => id));
  const wrong = runtime.gone.find((id) => !named.has(id) || STAYING.includes(id));
  if (wrong !== undefined) return effect(`${wrong} went, which no command names or which is in use`);
  return command === null ? REFUSED : { passed: true, effect: readable(published) };
}
