import type { Logger } from 'pino';
import type { Handler, Input } from '../../../packages/decision/handler.ts';
import type { ApiConnection } from '../../../packages/kube-api/connection.ts';
import type { TokenBucket } from '../../../packages/kube-api/rate-limiter.ts';
import { type WorkOutcome, WorkQueue, workOff } from '../../../packages/kube-api/work-queue.ts';

import type { Sleep } from '../../../packages/process/backoff.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import { runEvery } from '../../../packages/process/loops.ts';
import type { Metrics } from '../../../packages/process/metrics.ts';
import type { ClusterCommand } from '../../../schemas/events/cluster-command.ts';
import type { ClusterInstant } from '../../../schemas/events/cluster-objects.ts';
import type { ClusterObjectOutcome } from '../../../schemas/events/cluster-result.ts';
import type { ClusterIdentity } from '../../../schemas/events/identity.ts';
import { Attempt, type Attempting } from './acting/attempt.ts';
import { DoneBefore } from './acting/done-before.ts';
import { FirstTries } from './acting/first-tries.ts';
import { latenessOf } from './acting/permission.ts';
import { ReadablePolicies } from './acting/readable-policies.ts';
import { type CommandRefused, commandRefusal } from './checks/command-checks.ts';
import { KindCatalog } from './checks/kind-catalog.ts';
import { sharedReads } from './checks/live-reads.ts';
import { OrphanedOwners } from './checks/orphaned-owners.ts';
import { noteSettled, removalsBefore } from './checks/removals-before.ts';
import { SameInstance } from './checks/same-instance.ts';
import { failed, later, type Stop, toldOf } from './checks/stop.ts';
import { Announcements } from './intents/announcements.ts';
import type { OpenIntent } from './intents/open-intents.ts';
import { IntentSettlement } from './intents/settlement.ts';
import { addStopMetrics, addWaitingMetrics, createExecutorMetrics, type ExecutorMetrics } from './metrics.ts';
import { Order, type ReceivedCommand } from './order.ts';
import { type PacedConnection, pacedConnection, requestBucket, workersFor } from './paced-connection.ts';
import { CommandReports } from './results/command-reports.ts';
import { Outbox, type Outgoing } from './results/outbox.ts';
import type { RecentResults } from './results/recent-results.ts';

export interface ClusterExecutorDeps
  extends Pick<Attempting, 'index' | 'localHold' | 'policy' | 'objectionTo' | 'nowMs' | 'save'> {
  readonly identity: ClusterIdentity;
  /** Names this process in its intents and results. */
  readonly executor: string;
  readonly connection: ApiConnection;
  /** Its own results of the past hour. */
  readonly recent: RecentResults;
  /** Resolves when all of them are acknowledged. */
  readonly publish: (events: readonly Outgoing[]) => Promise<void>;
  readonly sleep: Sleep;
  /** From 0 up to 1, for backoff. */
  readonly random: () => number;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Of all workers together. */
  readonly requestsPerSecond: number;
}

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
  readonly #outbox: Outbox;
  readonly #reports: CommandReports;
  readonly #settlement: IntentSettlement;
  /** Commands that wait until what was announced for them earlier is looked at. */
  readonly #held = new Set<string>();
  readonly #parts: Attempting;
  readonly #bucket: TokenBucket;
  readonly #stopping = new AbortController();

  constructor(deps: ClusterExecutorDeps) {
    const { identity, nowMs, recent, logger } = deps;
    this.#deps = deps;
    this.instance = new SameInstance(identity, nowMs);
    this.#metrics = createExecutorMetrics(deps.metrics);
    this.#bucket = requestBucket(deps.requestsPerSecond);
    this.#queue = new WorkQueue<Order>({ nowMs, mostKeys: MOST_WAITING });
    this.#firstTries = new FirstTries(deps.index);
    this.#policies = new ReadablePolicies(deps);
    this.#outbox = new Outbox(deps);
    this.#reports = new CommandReports(
      {
        identity,
        executor: deps.executor,
        at: () => this.at(),
        outbox: this.#outbox,
        metrics: this.#metrics,
        logger,
      },
      recent.answered,
    );
    const reads = sharedReads({ kinds: new KindCatalog(nowMs), instance: this.instance }, nowMs);
    const removals = removalsBefore(deps);
    this.#settlement = new IntentSettlement(recent.open, {
      ...deps,
      paced: () => this.#paced().connection,
      reads,
      reports: this.#reports,
      onSettled: (settled) => noteSettled(removals, settled, nowMs()),
    });
    this.#parts = {
      ...deps,
      at: () => this.at(),
      reads,
      announcements: new Announcements({ ...deps, at: () => this.at() }),
      unrecorded: () => this.#outbox.objection(),
      removals,
      orphaned: new OrphanedOwners(recent.orphaned, { nowMs, logger }),
      doneBefore: new DoneBefore(),
    };
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
    const time = this.#deps.connection.clock.at(this.#deps.nowMs());
    return time && { serverMs: time.earliestMs, spreadMs: time.latestMs - time.earliestMs };
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
      for (const { object, act } of command.items) this.#parts.orphaned.ordered(object.uid, act);
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
      return await new Attempt(order, paced.connection, this.#parts).run();
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
    const { connection, nowMs, sleep } = this.#deps;
    return pacedConnection(connection, {
      bucket: this.#bucket,
      nowMs,
      sleep,
      signal: this.#stopping.signal,
    });
  }

  #settle(order: Order, outcome: ClusterObjectOutcome): void {
    if (order.isSettled) return;
    order.isSettled = true;
    this.#firstTries.end(order);
    if (this.#orders.get(order.uid) === order) this.#orders.delete(order.uid);
    if (outcome.outcome === 'patched') this.#parts.orphaned.wasLetGo(order.uid, order.item.act);
    const told = toldOf(order, outcome);
    this.#settlement.told(order.command.id, order.uid, told);
    this.#reports.settle(order, told);
  }

  #tick(): void {
    const { connection, nowMs } = this.#deps;
    const why = this.#policies.objection();
    for (const order of [...this.#orders.values()]) {
      if (!order.isInHand) order.waitedFor = why ?? order.waitedFor;
      const late = order.isInHand ? null : latenessOf(order, connection, nowMs());
      if (late?.kind === 'settled') this.#settle(order, late.outcome);
    }
    this.#reports.flush();
  }
}
