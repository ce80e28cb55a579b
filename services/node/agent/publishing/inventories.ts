import type { Logger } from 'pino';
import type { RuntimeReader, RuntimeVersion } from '../../../../packages/cri/port.ts';
import { nodeOutput } from '../../../../packages/decision/handler.ts';
import type { NodeClock } from '../../../../packages/machine/clock.ts';
import type { Sleep } from '../../../../packages/process/backoff.ts';
import { createWakeSignal } from '../../../../packages/process/loops.ts';
import type { FilesystemReadings } from '../../../../schemas/events/filesystem.ts';
import type { Inventory } from '../../../../schemas/events/inventory.ts';
import type { AgentMetrics } from '../agent-metrics.ts';
import type { AgentEvents } from '../inventory/inventory.ts';
import { type CompleteScan, diedSince, fingerprintOf, type NodeScan } from '../inventory/node-scan.ts';
import type { BackoffEntries, ContentsOfScan } from '../inventory/objects-from-scan.ts';
import type { FactSpans } from './fact-spans.ts';
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
import type { PublishQueue } from './publish-queue.ts';

interface InventoriesParts {
  readonly scan: () => Promise<NodeScan>;
  /** The readings of now, apart from scans. */
  readonly readings: () => FilesystemReadings;
  /** Makes the inventory of a scan and hands it on. */
  readonly publish: (scan: NodeScan, work: Work) => Promise<Inventory['status']>;
  readonly onScan: (scan: NodeScan) => void;
  readonly onExpired: (order: Order) => void;
  readonly clock: NodeClock;
  readonly sleep: Sleep;
}

const CHECK_AGAIN_MS = 1_000;

/** Takes inventories when they are due. Its functions are properties, since they are passed on by themselves. */
export class Inventories {
  readonly #parts: InventoriesParts;
  readonly #wakeSignal: ReturnType<typeof createWakeSignal>;
  #pacing = INITIAL_PACING;
  #last: NodeScan | null = null;
  #lastComplete: CompleteScan | null = null;
  #fingerprint: string | null = null;

  constructor(parts: InventoriesParts) {
    this.#parts = parts;
    this.#wakeSignal = createWakeSignal(parts.sleep);
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

  /** Takes inventories until the signal aborts. */
  readonly run = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      this.#dropExpired();
      const facts: Facts = { fingerprint: this.#fingerprint, readings: this.#parts.readings() };
      const next = due(this.#pacing, facts, this.#nowMs());
      if (next.kind === 'work') await this.#workOff(next.work);
      else await this.#wakeSignal.wait(this.#waitMs(next.untilMs), signal);
    }
  };

  /** The last scan, whatever it was for. */
  readonly lastScan = (): NodeScan | null => this.#last;

  #nowMs(): number {
    return this.#parts.clock.now().sinceBootMs;
  }

  async #scan(): Promise<NodeScan> {
    const found = await this.#parts.scan();
    this.#last = found;
    this.#parts.onScan(found);
    if (found.status === 'incomplete') return found;
    this.#pacing = onDeaths(this.#pacing, diedSince(this.#lastComplete, found), this.#nowMs());
    this.#lastComplete = found;
    this.#fingerprint = fingerprintOf(found);
    return found;
  }

  async #workOff(work: Work): Promise<void> {
    this.#pacing = begin(this.#pacing, work);
    const found = await this.#scan();
    const status = await this.#parts.publish(found, work);
    const newFingerprint =
      status === 'incomplete' || found.status === 'incomplete' ? null : fingerprintOf(found);
    const facts: Facts = { fingerprint: newFingerprint, readings: found.readings };
    this.#pacing = finish(this.#pacing, work, facts, this.#nowMs());
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
    if (expired) this.#parts.onExpired(expired);
  }
}

interface InventoryPublishingParts {
  readonly events: Pick<AgentEvents, 'inventory'>;
  readonly runtime: Pick<RuntimeReader, 'version'>;
  readonly backoff: () => BackoffEntries;
  readonly historyUnreadable: string | null;
  readonly contentsOf: ContentsOfScan;
  readonly queue: Pick<PublishQueue, 'put'>;
  /** Nobody traces when not given. */
  readonly spans?: Pick<FactSpans, 'answer'> | null;
  readonly metrics: Pick<AgentMetrics, 'inventories'>;
  readonly logger: Logger;
}

const UNKNOWN_RUNTIME: Pick<RuntimeVersion, 'name' | 'version'> = { name: 'unknown', version: '' };

/** Makes the inventory of a scan and hands it to the queue; resolves to its status. */
export function inventoryPublishing(
  parts: InventoryPublishingParts,
): (scan: NodeScan, work: Work) => Promise<Inventory['status']> {
  const { events, backoff, contentsOf, queue, spans = null, metrics, logger } = parts;
  const versionOf = cachedVersion(parts.runtime);
  let historyUnreadable = parts.historyUnreadable;
  return async (scan, work) => {
    const runtime = await versionOf();
    const contents = await contentsOf(scan);
    const { trigger: cause, order, diedContainerIds } = work;
    const event = events.inventory(
      { scan, trigger: cause, reclaim: order?.reclaim ?? null, diedContainerIds, runtime },
      { backoff: backoff(), historyUnreadable, ...contents },
    );
    const { trigger, status } = event;
    metrics.inventories.add({ trigger, status });
    report(event, logger);
    const reported = historyUnreadable;
    const traced = order?.trace && (spans?.answer(event, order.trace) ?? { trace: order.trace });
    queue.put({
      output: nodeOutput('inventory', event),
      ...traced,
      onPublished: () => {
        if (reported !== null) historyUnreadable = null;
        if (traced && 'onPublished' in traced) traced.onPublished();
      },
    });
    return status;
  };
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

/** For people; a runtime that does not answer keeps the version it had. */
function cachedVersion(runtime: Pick<RuntimeReader, 'version'>) {
  let known = UNKNOWN_RUNTIME;
  return async () => {
    try {
      known = await runtime.version();
    } catch {
      // The scan says what is wrong with the runtime.
    }
    return known;
  };
}
