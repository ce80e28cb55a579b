import type { Logger } from 'pino';
import type { RuntimeReader } from '../../../packages/cri/port.ts';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import type { NodeClock } from '../../../packages/machine/clock.ts';
import type { Sleep } from '../../../packages/process/backoff.ts';
import { createWakeSignal } from '../../../packages/process/loops.ts';
import type { Inventory } from '../../../schemas/events/inventory.ts';
import type { DiskWatch } from './disks.ts';
import type { AgentEvents, BackoffEntries, RuntimeName } from './event.ts';
import type { History } from './history.ts';
import type { AgentMetrics } from './metrics.ts';
import {
  begin,
  due,
  expire,
  type Facts,
  finish,
  INITIAL_PACING,
  type Order,
  type OrderOutcome,
  onDeaths,
  onOrder,
  type Work,
} from './pacing.ts';
import type { FactSpans, PublishQueue } from './publish.ts';
import { type CompleteScan, type ContentsOfScan, diedSince, fingerprintOf, type NodeScan } from './scan.ts';

/** With whom inventories are taken. */
interface Collaborators {
  readonly scan: () => Promise<NodeScan>;
  readonly disks: DiskWatch;
  readonly history: History;
  readonly runtime: RuntimeReader;
  readonly contentsOf: ContentsOfScan;
  readonly backoff: () => BackoffEntries;
  readonly events: AgentEvents;
  readonly queue: PublishQueue;
  /** `null`: nobody traces. */
  readonly spans: FactSpans | null;
  readonly metrics: AgentMetrics;
  readonly clock: NodeClock;
  readonly sleep: Sleep;
  readonly logger: Logger;
}

const CHECK_AGAIN_MS = 1_000;
const UNKNOWN_RUNTIME: RuntimeName = { name: 'unknown', version: '' };

/**
 * The life of an inventory, from the reason to take one until it is on its way to the log. When the process ends before that,
 * nothing is lost: the next one takes an inventory at its start, and an order that waited comes again from the log.
 * The functions are properties, since they are passed on by themselves.
 */
export class Inventories {
  readonly #with: Collaborators;
  readonly #wakeSignal: ReturnType<typeof createWakeSignal>;
  #pacing = INITIAL_PACING;
  #last: NodeScan | null = null;
  #lastComplete: CompleteScan | null = null;
  #fingerprint: string | null = null;
  #runtime = UNKNOWN_RUNTIME;
  /** Why the history could not be read at the start; `null` when it could, or that was published. */
  #historyUnreadable: string | null;

  constructor(collaborators: Collaborators) {
    this.#with = collaborators;
    this.#wakeSignal = createWakeSignal(collaborators.sleep);
    this.#historyUnreadable = collaborators.history.unreadable;
  }

  /** An order that was checked. */
  readonly accept = (order: Order): OrderOutcome => {
    const [next, outcome] = onOrder(this.#pacing, order);
    this.#pacing = next;
    this.#wakeSignal.wake();
    return outcome;
  };

  /** Containers that died, as the runtime's events say. */
  readonly died = (ids: readonly string[]): void => {
    this.#pacing = onDeaths(this.#pacing, ids, this.#nowMs());
    this.#wakeSignal.wake();
  };

  /** A scan for its own sake: what is in use, what died, what changed. */
  readonly detect = async (): Promise<void> => {
    await this.#scan();
    this.#wakeSignal.wake();
  };

  /** The last scan, whatever it was for. */
  readonly lastScan = (): NodeScan | null => this.#last;

  /** Takes inventories until the signal aborts. */
  readonly run = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      this.#dropExpired();
      // 1. Why now: an order, a death, a change, or its time (`pacing.ts`).
      const facts: Facts = { fingerprint: this.#fingerprint, readings: this.#with.disks.readings() };
      const next = due(this.#pacing, facts, this.#nowMs());
      if (next.kind === 'work') await this.#take(next.work);
      else await this.#wakeSignal.wait(this.#waitMs(next.untilMs), signal);
    }
  };

  async #take(work: Work): Promise<void> {
    const { history, contentsOf, events, backoff, metrics, logger } = this.#with;
    this.#pacing = begin(this.#pacing, work);

    // 2. Scan, and 3. note in the history what was seen. The executor keeps what it finds no record of, so the records go
    // ahead of the inventory that shows them.
    const found = await this.#scan();
    history.save('due');

    // 4. Layers and origins of images, for which nobody waits long.
    const runtime = await this.#runtimeName();
    const contents = await contentsOf(found);

    // 5. Make the event: complete, incomplete, or too large.
    const { trigger, order, diedContainerIds } = work;
    const event = events.inventory(
      { scan: found, trigger, reclaim: order?.reclaim ?? null, diedContainerIds, runtime },
      { backoff: backoff(), historyUnreadable: this.#historyUnreadable, ...contents },
    );
    metrics.inventories.add({ trigger: event.trigger, status: event.status });
    report(event, logger);

    // 6. Queue it; the newest one alone waits for the log.
    this.#queue(event, work);

    // 7. When the next is due.
    const isComplete = event.status !== 'incomplete' && found.status !== 'incomplete';
    const facts: Facts = { fingerprint: isComplete ? fingerprintOf(found) : null, readings: found.readings };
    this.#pacing = finish(this.#pacing, work, facts, this.#nowMs());
  }

  async #scan(): Promise<NodeScan> {
    const found = await this.#with.scan();
    this.#last = found;
    this.#with.metrics.looks.add({ status: found.status });
    if (found.status === 'incomplete') return found;
    this.#pacing = onDeaths(this.#pacing, diedSince(this.#lastComplete, found), this.#nowMs());
    this.#lastComplete = found;
    this.#fingerprint = fingerprintOf(found);
    return found;
  }

  /** For people; a runtime that does not answer keeps the version it had. */
  async #runtimeName(): Promise<RuntimeName> {
    try {
      this.#runtime = await this.#with.runtime.version();
    } catch {
      // The scan says what is wrong with the runtime.
    }
    return this.#runtime;
  }

  #queue(event: Inventory, { order }: Work): void {
    const { queue, spans } = this.#with;
    const reported = this.#historyUnreadable;
    const traced = order?.trace && (spans?.answer(event, order.trace) ?? { trace: order.trace });
    queue.put({
      output: nodeOutput('inventory', event),
      ...traced,
      onPublished: () => {
        if (reported !== null) this.#historyUnreadable = null;
        if (traced && 'onPublished' in traced) traced.onPublished();
      },
    });
  }

  /** What an order waits for can end with any sample of the disks. */
  #waitMs(untilMs: number): number {
    return Math.min(
      untilMs - this.#nowMs(),
      this.#pacing.pending ? CHECK_AGAIN_MS : Number.POSITIVE_INFINITY,
    );
  }

  #dropExpired(): void {
    const [kept, expired] = expire(this.#pacing, this.#nowMs());
    this.#pacing = kept;
    if (expired) this.#with.metrics.orders.add({ outcome: 'expired' });
  }

  #nowMs(): number {
    return this.#with.clock.now().sinceBootMs;
  }
}

function report(event: Inventory, logger: Logger): void {
  const about = { inventoryId: event.id, trigger: event.trigger };
  switch (event.status) {
    case 'complete':
      logger.debug(about, 'inventory complete');
      break;
    case 'incomplete':
      logger.warn({ ...about, problems: event.problems }, 'inventory incomplete: nothing is removed on it');
      break;
    case 'too-large':
      logger.warn(
        { ...about, counts: event.counts },
        'inventory too large to be read: only counts are published, and nothing is removed on it',
      );
  }
}
