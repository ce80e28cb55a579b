import type { Logger } from 'pino';
import type { RuntimeReader } from '../../../packages/cri/port.ts';
import { type Handler, nodeOutput } from '../../../packages/decision/handler.ts';
import type { StateDirectory } from '../../../packages/machine/state-directory.ts';
import type { Sleep } from '../../../packages/process/backoff.ts';
import { type FleetGcError, toFleetGcError } from '../../../packages/process/errors.ts';
import { runEvery, runTogether, untilAborted } from '../../../packages/process/loops.ts';
import type { Metrics } from '../../../packages/process/metrics.ts';
import type { Tracer } from '../../../packages/process/tracer.ts';
import { type Consumer, type ConsumerSettings, startConsumer } from '../../../packages/records/consume.ts';
import type { Publisher } from '../../../packages/records/publisher.ts';
import type { DiskStats } from '../../../schemas/events/disk-stats.ts';
import { nodeKey } from '../../../schemas/events/identity.ts';
import { OBSERVE_LIFETIME_MS, type Observe } from '../../../schemas/events/observe.ts';
import type { PolicySet } from '../../../schemas/policy/policy.ts';
import { type DiskWatch, watchDisks } from './disks.ts';
import { type AgentEvents, agentEvents } from './event.ts';
import { backoffReader, removedImagesReader } from './executor-files.ts';
import { ownInventory, type TakeInventory } from './for-executor.ts';
import { type History, openHistory } from './history.ts';
import { Inventories } from './inventory.ts';
import { type AgentMetrics, addFilesystemGauges, agentMetrics, type Fact } from './metrics.ts';
import { type Justification, observeHandler, whyUnjustified } from './orders.ts';
import { watchPods } from './pods.ts';
import { createPublishQueue, FactSpans, type PublishQueue } from './publish.ts';
import { contentsOfScans, createNodeScanner, type NodeScan, type NodeSources } from './scan.ts';

/** Everything from outside that an agent needs. */
export interface NodeAgentDeps extends NodeSources {
  /** As this process follows them; throws `POLICIES_UNREADABLE` while they cannot be read. */
  readonly policies: () => PolicySet;
  readonly state: Pick<StateDirectory, 'open' | 'openReadOnly'>;
  readonly publisher: Pick<Publisher, 'publish'>;
  /** Nobody traces when not given. */
  readonly tracer?: Tracer | null;
  readonly sleep: Sleep;
  readonly schedule: TaskSchedule;
  /** 0 <= number < 1, for jitter. */
  readonly random: () => number;
  readonly metrics: Metrics;
}

/** The newest inventory says it all; disk statistics of an hour are more than anybody asks for afterwards. */
const QUEUE_LIMITS: Readonly<Record<Fact, number>> = { inventory: 1, 'disk-stats': 60 };

/** Reads one node and publishes what it sees. It does nothing before `run`. */
export class NodeAgent {
  /** For the topic `observe`. */
  readonly observe: Handler<Observe>;
  /** For the executor of the same process. */
  readonly takeInventory: TakeInventory;
  readonly diskHistory: () => DiskStats['history'];
  readonly #deps: NodeAgentDeps;
  readonly #metrics: AgentMetrics;
  readonly #queues: Readonly<Record<'inventory' | 'diskStats', PublishQueue>>;
  readonly #events: AgentEvents;
  readonly #history: History;
  readonly #disks: DiskWatch;
  readonly #inventories: Inventories;
  readonly #spans: FactSpans | null;

  constructor(deps: NodeAgentDeps) {
    const { identity, nodeLabels, runtime, state, clock, sleep, logger } = deps;
    const startedAt = clock.now();
    this.#deps = deps;
    this.#spans = deps.tracer ? new FactSpans(deps.tracer, clock) : null;
    this.#metrics = agentMetrics(deps.metrics);
    this.#queues = { inventory: this.#queueFor('inventory'), diskStats: this.#queueFor('disk-stats') };
    this.#events = agentEvents({ identity, nodeLabels, startedAt });
    const removed = removedImagesReader(state, logger);
    this.#history = openHistory({ state, now: startedAt, removed, logger });
    this.#disks = watchDisks(deps);
    const pods = watchPods({ source: deps.pods, sources: deps.podSources, clock, logger });
    const shared = {
      scan: createNodeScanner(deps, pods, this.#history),
      events: this.#events,
      backoff: backoffReader(state, logger),
      contentsOf: contentsOfScans(deps.contents),
      clock,
    };
    this.#inventories = new Inventories({
      ...shared,
      disks: this.#disks,
      history: this.#history,
      runtime,
      queue: this.#queues.inventory,
      spans: this.#spans,
      metrics: this.#metrics,
      sleep,
      logger,
    });
    addFilesystemGauges(deps.metrics, this.#disks.readings);
    this.takeInventory = ownInventory({ ...shared, lastScan: this.#inventories.lastScan });
    this.diskHistory = this.#disks.history;
    this.observe = this.#ordersHandler();
  }

  /** Reads the node and publishes facts until the signal aborts. A property, since it is passed on by itself. */
  readonly run = async (signal: AbortSignal): Promise<void> => {
    const { runtime, sleep, schedule, logger } = this.#deps;
    const { detect, died, run } = this.#inventories;
    const onDeath = (id: string): void => died([id]);
    await runTogether(
      [
        (stop) => schedule('sample', () => this.#sample(), stop),
        (stop) => schedule('detect', detect, stop),
        (stop) => schedule('save', () => this.#save('due'), stop),
        (stop) => watchDeaths({ runtime, onDeath, sleep, logger }, stop),
        run,
        this.#queues.inventory.run,
        this.#queues.diskStats.run,
      ],
      signal,
    ).finally(() => this.#save('end'));
  };

  /** Why it cannot do its work at the moment, in a sentence; `null` when it can. */
  readonly problem = (): string | null => {
    const { inventory, diskStats } = this.#queues;
    return problemOf(this.#inventories.lastScan()) ?? inventory.problem() ?? diskStats.problem();
  };

  #queueFor(what: Fact): PublishQueue {
    const onDropped = (): void => this.#metrics.dropped.add({ fact: what });
    return createPublishQueue({ ...this.#deps, what, limit: QUEUE_LIMITS[what], onDropped });
  }

  #ordersHandler(): Handler<Observe> {
    const { identity, nodeLabels, policies, clock, logger } = this.#deps;
    const justification: Justification = {
      node: { ...identity, nodeLabels },
      policies,
      readings: () => ({
        filesystems: this.#disks.readings(),
        history: this.#disks.history(),
        nowMs: clock.now().sinceBootMs,
      }),
    };
    const handler = observeHandler({
      self: identity,
      clock,
      whyUnjustified: (order) => whyUnjustified(order, justification),
      accept: this.#inventories.accept,
      metrics: this.#metrics,
      logger,
    });
    return (input) => {
      if (input.trace) this.#spans?.ordered(input.trace);
      return handler(input);
    };
  }

  async #sample(): Promise<void> {
    const facts = await this.#disks.sample();
    if (facts) {
      const event = this.#events.diskStats(facts);
      this.#queues.diskStats.put({ output: nodeOutput('diskStats', event), ...this.#spans?.sample(event) });
    }
  }

  #save(when: 'due' | 'end'): void {
    this.#history.save(when);
    this.#disks.save(when);
  }
}

function problemOf(scan: NodeScan | null): string | null {
  if (scan === null) return 'has not looked at the container runtime yet';
  return scan.status === 'incomplete' ? (scan.problems[0]?.message ?? null) : null;
}

interface NodeAgentProcess {
  readonly agent: NodeAgentDeps;
  readonly consuming: Pick<
    ConsumerSettings,
    'log' | 'trust' | 'publisher' | 'deadLetters' | 'marks' | 'now' | 'monotonicNow'
  >;
}

/** An agent in a process of its own, with a consumer of its own. */
interface RunningAgent {
  /** Why it cannot do its work at the moment, in a sentence; `null` when it can. */
  problem(): string | null;
  /** Resolves when the signal aborted and all has ended; rejects on a failure that no retry mends. */
  readonly finished: Promise<void>;
}

/** Reads the node and publishes facts, and answers orders, until the signal aborts. */
export function runNodeAgent(
  { agent: deps, consuming }: NodeAgentProcess,
  signal: AbortSignal,
): RunningAgent {
  const { identity, logger, metrics } = deps;
  const agent = new NodeAgent(deps);
  let consumer: Consumer | null = null;
  const consume = async (stop: AbortSignal): Promise<void> => {
    consumer = await startConsumer({
      ...consuming,
      name: 'node-agent',
      group: `fleetgc-agent-${identity.nodeInstance}`,
      start: 'latest',
      assignment: { kind: 'key', key: nodeKey(identity), lookBackMs: OBSERVE_LIFETIME_MS },
      handlers: { observe: agent.observe },
      logger,
      metrics,
    });
    await untilStopped(consumer, stop);
  };
  return {
    problem: () =>
      agent.problem() ?? (consumer ? consumer.problem() : 'is not connected to the event log yet'),
    finished: runTogether([agent.run, consume], signal),
  };
}

async function untilStopped(consumer: Consumer, stop: AbortSignal): Promise<void> {
  await Promise.race([untilAborted(stop), consumer.finished]);
  await consumer.stop();
}

interface DeathWatchParts {
  readonly runtime: Pick<RuntimeReader, 'containerEvents'>;
  /** Also gets ids of sandboxes, which runtimes report alike. */
  readonly onDeath: (containerId: string) => void;
  readonly sleep: Sleep;
  readonly logger: Logger;
}

const RECONNECT_MS = 10_000;
const MOST_RECONNECT_MS = 600_000;

/**
 * Listens to the runtime's events until the signal aborts. They only make things faster: what they miss, and
 * everything on a runtime without events, is seen by the next detection.
 */
export async function watchDeaths(parts: DeathWatchParts, signal: AbortSignal): Promise<void> {
  const { logger, sleep } = parts;
  for (let emptyStreams = 0; !signal.aborted; ) {
    const { problem, isEmpty } = await listen(parts, signal);
    if (signal.aborted) return;
    if (problem?.code === 'RUNTIME_UNSUPPORTED') {
      logger.info('the runtime has no container events: deaths are seen by detection');
      return;
    }
    emptyStreams = isEmpty ? emptyStreams + 1 : 0;
    if (emptyStreams === REPORTED_AFTER) logger.info(ENDS_AT_ONCE);
    logger.debug({ problem: problem?.message ?? null }, 'container events ended');
    await sleep(waitMs(emptyStreams), signal);
  }
}

const waitMs = (emptyStreams: number): number =>
  Math.min(RECONNECT_MS * 2 ** Math.max(0, emptyStreams - 1), MOST_RECONNECT_MS);

/** A runtime that is just restarted may end one too. */
const REPORTED_AFTER = 2;
const ENDS_AT_ONCE =
  'the runtime ends its container events without telling any, as CRI-O does where enable_pod_events is off: deaths are seen by detection';

/** How a stream went. */
interface Listened {
  /** `null` when the runtime just ended it. */
  readonly problem: FleetGcError | null;
  /** It ended without a problem, and without an event. */
  readonly isEmpty: boolean;
}

/** Until the stream ends. */
async function listen({ runtime, onDeath }: DeathWatchParts, signal: AbortSignal): Promise<Listened> {
  let isEmpty = true;
  try {
    for await (const { kind, containerId } of runtime.containerEvents(signal)) {
      isEmpty = false;
      if (kind === 'stopped') onDeath(containerId);
    }
    return { problem: null, isEmpty };
  } catch (error) {
    return { problem: toFleetGcError(error), isEmpty: false };
  }
}

/** What an agent does again and again, beside taking inventories. */
export type AgentTask = 'sample' | 'detect' | 'save';

/** Does the work of a task as often as it is due, until the signal aborts. Rejects with what `work` rejects with. */
export type TaskSchedule = (
  task: AgentTask,
  work: () => Promise<void> | void,
  signal: AbortSignal,
) => Promise<void>;

/** @limit Periods of the disk sample, the usage check and the state save. Keep the usage check equal to `DETECT_EVERY_MS`. */
const EVERY_MS: Readonly<Record<AgentTask, number>> = { sample: 1_000, detect: 10_000, save: 10_000 };

/** As on a node, where nobody tells when something changed. */
export const byTheClock =
  (sleep: Sleep): TaskSchedule =>
  (task, work, signal) =>
    runEvery(EVERY_MS[task], work, { sleep, signal });
