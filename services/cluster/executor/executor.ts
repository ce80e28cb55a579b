import type { Handler, Input } from '../../../packages/decision/handler.ts';
import type { ApiConnection } from '../../../packages/kube-api/connection.ts';
import { type TokenBucket, tokenBucket } from '../../../packages/kube-api/rate-limiter.ts';
import { type WorkOutcome, WorkQueue, workOff } from '../../../packages/kube-api/work-queue.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import { runEvery } from '../../../packages/process/loops.ts';
import type { Metrics } from '../../../packages/process/metrics.ts';
import type { ClusterCommand } from '../../../schemas/events/cluster-command.ts';
import type { ClusterInstant } from '../../../schemas/events/cluster-objects.ts';
import type { ClusterObjectOutcome } from '../../../schemas/events/cluster-result.ts';
import { type CommandRefused, commandRefusal } from './command-checks.ts';
import { Announcements, type OpenIntent } from './intents.ts';
import { OrphanedOwners } from './judge.ts';
import { SameInstance, sharedReads } from './live-reads.ts';
import { addStopMetrics, addWaitingMetrics, createExecutorMetrics, type ExecutorMetrics } from './metrics.ts';
import { latenessOf, ObjectWork, unreadableText } from './object.ts';
import { failed, later, Order, type ReceivedCommand, type Stop, toldOf } from './order.ts';
import { ClusterOutbox } from './outbox.ts';
import type { ExecutorPorts, IndexSource } from './ports.ts';
import { noteSettled, type RecentResults, removalsBefore } from './recent-results.ts';
import { CommandReports } from './results.ts';
import { IntentSettlement } from './settlement.ts';

export interface ClusterExecutorDeps extends ExecutorPorts {
  /** Its own results of the past hour. */
  readonly recent: RecentResults;
  readonly metrics: Metrics;
  /** Of all workers together. */
  readonly requestsPerSecond: number;
}

/** @limit Objects that wait. Further commands are refused as `too-many-waiting`. */
const MOST_WAITING = 50_000;
/** How long an owner waits before it is seen again whether its dependents were tried. */
const AFTER_DEPENDENTS_MS = 20;
/** Results wait at most so long, and orders that expired while they waited are told so soon. */
const TELL_EVERY_MS = 1_000;

/**
 * Carries out what is ordered about one cluster. It keeps nothing on a disk: orders are read again after a restart. What was done before
 * is known from its intents and results on the log, and by the API server, which does nothing twice to one state of an object.
 */
export class ClusterExecutor {
  readonly instance: SameInstance;
  readonly #deps: ClusterExecutorDeps;
  readonly #metrics: ExecutorMetrics;
  readonly #queue: WorkQueue<Order>;
  /** The newest order about each object that is not settled, by uid. */
  readonly #orders = new Map<string, Order>();
  readonly #firstTries: FirstTries;
  readonly #policies: ReadablePolicies;
  readonly #outbox: ClusterOutbox;
  readonly #reports: CommandReports;
  readonly #settlement: IntentSettlement;
  /** Commands that wait until what was announced for them earlier is looked at. */
  readonly #held = new Set<string>();
  readonly #orphaned: OrphanedOwners;
  readonly #objects: ObjectWork;
  readonly #bucket: TokenBucket;
  readonly #stopping = new AbortController();

  constructor(deps: ClusterExecutorDeps) {
    const { identity, nowMs, recent } = deps;
    this.#deps = deps;
    this.instance = new SameInstance(identity, nowMs);
    this.#metrics = createExecutorMetrics(deps.metrics);
    this.#bucket = requestBucket(deps.requestsPerSecond);
    this.#queue = new WorkQueue<Order>({ nowMs, mostKeys: MOST_WAITING });
    this.#firstTries = new FirstTries(deps.index);
    this.#policies = new ReadablePolicies(deps);
    this.#outbox = new ClusterOutbox(deps);
    this.#reports = new CommandReports(deps, this.#outbox, this.#metrics, recent.answered);
    const reads = sharedReads(this.instance, nowMs);
    const removals = removalsBefore(recent, deps);
    this.#settlement = new IntentSettlement(recent.open, deps, {
      paced: () => this.#paced().connection,
      reads,
      reports: this.#reports,
      onSettled: (each, found) => noteSettled(removals, each, found, nowMs()),
    });
    this.#orphaned = new OrphanedOwners(recent.orphaned, deps);
    this.#objects = new ObjectWork(deps, {
      reads,
      removals,
      orphaned: this.#orphaned,
      announcements: new Announcements(deps),
      outbox: this.#outbox,
    });
    addStopMetrics(deps.metrics, deps);
    addWaitingMetrics(deps.metrics, {
      orders: () => this.#orders.size,
      results: () => this.#outbox.size,
      announced: () => this.#settlement.size,
      announcedUnseen: () => this.#settlement.unseen,
    });
  }

  /** For the topic of commands: it takes a command and returns, since its objects may have to wait. */
  readonly commands: Handler<ClusterCommand> = (input) => {
    this.#receive(input);
    return [];
  };

  /** What the API server's clock shows, as far as its answers tell; `null` where nobody knows. */
  at(): ClusterInstant | null {
    return this.#deps.connection.clock.instantAt(this.#deps.nowMs());
  }

  /**
   * Works orders off until `signal` aborts. Then what is in hand is finished, which can take as long as the API server takes for a
   * write, and what the log takes within 2 s is published.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { nowMs, sleep, requestsPerSecond } = this.#deps;
    signal.addEventListener('abort', () => this.#stopping.abort(), { once: true });
    if (signal.aborted) this.#stopping.abort();
    const telling = new AbortController();
    const publishing = this.#outbox.run(telling.signal);
    const ticking = runEvery(TELL_EVERY_MS, () => this.#tick(), { sleep, signal: telling.signal });
    const settling = this.#settlement.run(this.#stopping.signal);
    const working = workOff(this.#queue, {
      workers: workersFor(requestsPerSecond),
      work: ({ value }) => this.#work(value),
      nowMs,
      sleep,
      signal: this.#stopping.signal,
    });
    try {
      await Promise.race([working, ticking, publishing, settling]);
    } finally {
      // Also when one of them failed, what is in hand is finished and told.
      this.#stopping.abort();
      await Promise.allSettled([working, settling]);
      this.#reports.flush();
      telling.abort();
      await this.#outbox.last(publishing);
    }
  }

  #receive({ event: command, trace, signedBy }: Input<ClusterCommand>): void {
    const { identity, nowMs } = this.#deps;
    // Other clusters share the partition.
    if (command.cluster !== identity.cluster) return;
    // Also of what is refused now: in an earlier life it may have been carried out.
    if (this.#deps.index === null)
      for (const { object, act } of command.items) this.#orphaned.ordered(object.uid, act);
    if (this.#reports.knows(command.id) || this.#held.has(command.id)) return;
    this.#outbox.requireRoom();
    const received = {
      command,
      trace: trace ?? null,
      signedBy: signedBy ?? null,
      receivedAtMs: nowMs(),
    };
    const looked = this.#settlement.looked(command.id);
    if (looked === null) {
      this.#take(received);
      return;
    }
    this.#held.add(command.id);
    void looked.then(() => {
      this.#held.delete(command.id);
      this.#take(received);
    });
  }

  /** Nothing that was announced for it is open, but for what is unchanged. */
  #take(given: Omit<ReceivedCommand, 'intended'>): void {
    const { command } = given;
    if (this.#reports.knows(command.id)) return;
    const refusal = this.#refusalOf(command);
    if (refusal !== null) {
      this.#reports.refuse(given, refusal);
      return;
    }
    const earlier = new Map([
      ...(this.#deps.recent.objects.get(command.id) ?? []),
      ...this.#settlement.outcomes(command.id),
    ]);
    const leftOut = this.#settlement.leftOut(command.id);
    const intended = command.items.filter(
      ({ object }) => !earlier.has(object.uid) && !leftOut.has(object.uid),
    );
    const outcomes = command.items.flatMap(({ object }) => earlier.get(object.uid) ?? []);
    const received = { ...given, intended };
    this.#reports.begin(
      received,
      outcomes,
      [...leftOut].filter((uid) => !earlier.has(uid)),
    );
    for (const item of intended) this.#enqueue(new Order(received, item));
  }

  /** Intents of longer ago than the past hour, which are looked for while the executor works. */
  settle(open: readonly OpenIntent[]): void {
    for (const intent of open) if (!this.#reports.knows(intent.commandId)) this.#settlement.add(intent);
  }

  /** Why nothing of the command is done. */
  #refusalOf(command: ClusterCommand): CommandRefused | null {
    const { identity, connection, nowMs, policy, localHold } = this.#deps;
    const hold = localHold();
    if (hold !== null) return { reason: 'held', message: hold };
    const now = { identity, time: connection.clock.at(nowMs()), inForce: policy() };
    return commandRefusal(command, now) ?? this.#crowded(command);
  }

  #crowded({ items }: ClusterCommand): CommandRefused | null {
    const { waiting } = this.#queue;
    return waiting + items.length <= MOST_WAITING
      ? null
      : { reason: 'too-many-waiting', message: `${waiting} objects of other commands are waiting` };
  }

  /** Of what waits for one object the newest order counts (cluster F7). */
  #enqueue(order: Order): void {
    const { uid } = order;
    const before = this.#orders.get(uid);
    this.#orders.set(uid, order);
    this.#firstTries.begin(order);
    if (before !== undefined && !before.isInHand) this.#settle(before, before.supersededBy(order));
    this.#queue.add(uid, order);
  }

  async #work(order: Order): Promise<WorkOutcome> {
    if (!(await this.#policies.areRead(this.#stopping.signal))) return 0;
    if (order.isSettled) return 'done';
    if (this.#firstTries.areAwaitedBy(order)) return AFTER_DEPENDENTS_MS;
    order.isInHand = true;
    order.waitedFor = null;
    order.attempts++;
    const stop = await this.#attempt(order);
    order.isInHand = false;
    this.#firstTries.end(order);
    if (stop.kind === 'settled') {
      this.#settle(order, stop.outcome);
      return 'done';
    }
    const newer = this.#orders.get(order.uid) ?? order;
    if (newer === order) return order.triedLater(stop);
    this.#settle(order, order.supersededBy(newer));
    return 'done';
  }

  async #attempt(order: Order): Promise<Stop> {
    const { logger } = this.#deps;
    const paced = this.#paced();
    try {
      return await this.#objects.carryOut(order, paced.connection);
    } catch (thrown) {
      const error = toFleetGcError(thrown);
      if (error.retry) return later('unreachable', error.message);
      logger.error({ uid: order.uid, err: error.cause ?? error }, 'an object of a command is given up');
      return failed({ reason: 'executor-failed', message: error.message });
    } finally {
      order.requests += paced.requests();
      this.#metrics.requests.add({}, paced.requests());
    }
  }

  #paced(): PacedConnection {
    return pacedConnection(this.#deps, this.#bucket, this.#stopping.signal);
  }

  #settle(order: Order, outcome: ClusterObjectOutcome): void {
    if (order.isSettled) return;
    order.isSettled = true;
    this.#firstTries.end(order);
    if (this.#orders.get(order.uid) === order) this.#orders.delete(order.uid);
    if (outcome.outcome === 'patched') this.#orphaned.wasLetGo(order.uid, order.item.act);
    const told = toldOf(order, outcome);
    this.#settlement.told(order.command.id, order.uid, told);
    this.#reports.settle(order, told);
  }

  #tick(): void {
    const { connection, nowMs } = this.#deps;
    const why = this.#policies.objection();
    for (const order of [...this.#orders.values()]) {
      if (!order.isInHand) order.waitedFor = why ?? order.waitedFor;
      const late = order.isInHand ? null : latenessOf(order, connection.clock, nowMs());
      if (late?.kind === 'settled') this.#settle(order, late.outcome);
    }
    this.#reports.flush();
  }
}

/** What an executor asks of an API server, after twice as many at once (cluster F12). */
const requestBucket = (perSecond: number): TokenBucket => tokenBucket(perSecond, 2 * perSecond);

/** @limit Objects that an executor processes at once, as upstream. */
const MOST_WORKERS = 20;
/** So long a request may wait for the others: what was looked at last should hold at the deed. */
const MOST_PACED_MS = 400;

/** How many objects are worked on at once. */
const workersFor = (requestsPerSecond: number): number =>
  Math.min(MOST_WORKERS, Math.max(1, Math.floor((requestsPerSecond * MOST_PACED_MS) / 1_000)));

/** A connection whose requests wait for their turn, and are counted. */
interface PacedConnection {
  readonly connection: ApiConnection;
  readonly requests: () => number;
}

/** `signal` ends reads that are under way; what writes is finished. */
function pacedConnection(
  { connection, nowMs, sleep }: ExecutorPorts,
  bucket: TokenBucket,
  signal: AbortSignal,
): PacedConnection {
  let requests = 0;
  const turn = async (): Promise<void> => {
    const waitMs = bucket.reserveMs(nowMs());
    if (waitMs > 0) await sleep(waitMs, signal);
    requests++;
  };
  return {
    requests: () => requests,
    connection: {
      clock: connection.clock,
      call: async (request) => {
        await turn();
        return request.method === 'GET' ? connection.call(request, signal) : connection.call(request);
      },
      stream: connection.stream,
      [Symbol.dispose]: () => undefined,
    },
  };
}

/**
 * Owners of objects about which there is an order that nobody has tried yet. Such an owner is let go after them: while it is there its
 * dependents go foreground, and after it in the background (cluster C13).
 */
class FirstTries {
  /** Without the owner graph no owner is let go. */
  readonly #index: IndexSource | null;
  readonly #ownersOf = new Map<Order, readonly string[]>();
  readonly #untried = new Map<string, number>();

  constructor(index: IndexSource | null) {
    this.#index = index;
  }

  begin(order: Order): void {
    if (order.isFinish) return;
    const references = this.#index?.current()?.object(order.uid)?.references ?? [];
    const owners = references.map(({ uid }) => uid);
    this.#ownersOf.set(order, owners);
    for (const uid of owners) this.#untried.set(uid, (this.#untried.get(uid) ?? 0) + 1);
  }

  /** It was tried, or nothing comes of it. */
  end(order: Order): void {
    for (const uid of this.#ownersOf.get(order) ?? []) {
      const left = (this.#untried.get(uid) ?? 0) - 1;
      if (left > 0) this.#untried.set(uid, left);
      else this.#untried.delete(uid);
    }
    this.#ownersOf.delete(order);
  }

  /** Whether it is about an owner with dependents that are to be tried first. */
  areAwaitedBy(order: Order): boolean {
    return order.isFinish && this.#untried.has(order.uid);
  }
}

/** How often it is looked whether they can be read again. */
const LOOK_AGAIN_MS = 1_000;

/** While policies cannot be read nothing is done, and orders wait: what ends by itself shall not cost them a refusal. */
class ReadablePolicies {
  readonly #ports: ExecutorPorts;
  #isWaiting = false;

  constructor(ports: ExecutorPorts) {
    this.#ports = ports;
  }

  /** Why nothing may be done now; `null` where they can be read. */
  objection(): string | null {
    const inForce = this.#ports.policy();
    return inForce.kind === 'unreadable' ? unreadableText(inForce.message) : null;
  }

  /** Resolves when they can be read; false where the signal aborted before. */
  async areRead(signal: AbortSignal): Promise<boolean> {
    for (let why = this.objection(); why !== null; why = this.objection()) {
      if (signal.aborted) return false;
      if (!this.#isWaiting) this.#ports.logger.warn(`orders wait: ${why}`);
      this.#isWaiting = true;
      await this.#ports.sleep(LOOK_AGAIN_MS, signal);
    }
    if (this.#isWaiting) this.#ports.logger.info('policies can be read again, so orders wait no longer');
    this.#isWaiting = false;
    return true;
  }
}
