import type { Logger } from 'pino';
import type { RuntimeReader, RuntimeVersion } from '../../../packages/cri/port.ts';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import type { NodeClock } from '../../../packages/machine/clock.ts';
import type { Sleep } from '../../../packages/process/backoff.ts';
import { createWakeSignal } from '../../../packages/process/loops.ts';
import type { FilesystemReadings } from '../../../schemas/events/filesystem.ts';
import type { Inventory } from '../../../schemas/events/inventory.ts';
import type { AgentMetrics } from '../agent-metrics.ts';
import type { AgentEvents } from '../inventory/inventory.ts';
import { type CompleteScan, diedSince, fingerprintOf, type NodeScan } from '../inventory/node-scan.ts';
import type { BackoffEntries, ContentsOfScan } from '../inventory/objects-from-scan.ts';
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

/** Takes inventories when they are due. */
interface Inventories {
  /** An order that was checked. */
  accept(order: Order): OrderOutcome;
  /** Containers that died, as the runtime's events say. */
  died(ids: readonly string[]): void;
  /** A scan for its own sake: what is in use, what died, what changed. */
  detect(): Promise<void>;
  /** Takes inventories until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** The last scan, whatever it was for. */
  lastScan(): NodeScan | null;
}

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

export function createInventories(parts: InventoriesParts): Inventories {
  const { scan, readings, publish, onScan, onExpired, clock, sleep } = parts;
  const wakeSignal = createWakeSignal(sleep);
  let pacing = INITIAL_PACING;
  let last: NodeScan | null = null;
  let lastComplete: CompleteScan | null = null;
  let fingerprint: string | null = null;

  const nowMs = (): number => clock.now().sinceBootMs;
  const facts = (): Facts => ({ fingerprint, readings: readings() });

  const scanOnce = async (): Promise<NodeScan> => {
    const found = await scan();
    last = found;
    onScan(found);
    if (found.status === 'incomplete') return found;
    pacing = onDeaths(pacing, diedSince(lastComplete, found), nowMs());
    lastComplete = found;
    fingerprint = fingerprintOf(found);
    return found;
  };

  const workOff = async (work: Work): Promise<void> => {
    pacing = begin(pacing, work);
    const found = await scanOnce();
    const status = await publish(found, work);
    const newFingerprint =
      status === 'incomplete' || found.status === 'incomplete' ? null : fingerprintOf(found);
    pacing = finish(pacing, work, { fingerprint: newFingerprint, readings: found.readings }, nowMs());
  };

  /** What an order waits for can end with any sample of the disks. */
  const waitMs = (untilMs: number): number =>
    Math.min(untilMs - nowMs(), pacing.pending ? CHECK_AGAIN_MS : Number.POSITIVE_INFINITY);

  const dropExpired = (): void => {
    const [kept, expired] = expire(pacing, nowMs());
    pacing = kept;
    if (expired) onExpired(expired);
  };

  return {
    accept: (order) => {
      const [next, outcome] = onOrder(pacing, order);
      pacing = next;
      wakeSignal.wake();
      return outcome;
    },
    died: (ids) => {
      pacing = onDeaths(pacing, ids, nowMs());
      wakeSignal.wake();
    },
    detect: async () => {
      await scanOnce();
      wakeSignal.wake();
    },
    run: async (signal) => {
      while (!signal.aborted) {
        dropExpired();
        const next = due(pacing, facts(), nowMs());
        if (next.kind === 'work') await workOff(next.work);
        else await wakeSignal.wait(waitMs(next.untilMs), signal);
      }
    },
    lastScan: () => last,
  };
}

interface InventoryPublishingParts {
  readonly events: Pick<AgentEvents, 'inventory'>;
  readonly runtime: Pick<RuntimeReader, 'version'>;
  readonly backoff: () => BackoffEntries;
  readonly historyUnreadable: string | null;
  readonly contentsOf: ContentsOfScan;
  readonly queue: Pick<PublishQueue, 'put'>;
  readonly metrics: Pick<AgentMetrics, 'inventories'>;
  readonly logger: Logger;
}

const UNKNOWN_RUNTIME: Pick<RuntimeVersion, 'name' | 'version'> = { name: 'unknown', version: '' };

/** Makes the inventory of a scan and hands it to the queue; resolves to its status. */
export function inventoryPublishing(
  parts: InventoryPublishingParts,
): (scan: NodeScan, work: Work) => Promise<Inventory['status']> {
  const { events, backoff, contentsOf, queue, metrics, logger } = parts;
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
    const { id, trigger, status } = event;
    metrics.inventories.add({ trigger, status });
    const problems = event.status === 'incomplete' ? { problems: event.problems } : {};
    if (status === 'complete') logger.debug({ inventoryId: id, trigger }, 'inventory complete');
    else
      logger.warn(
        { inventoryId: id, trigger, ...problems },
        'inventory incomplete: nothing is removed on it',
      );
    const reported = historyUnreadable;
    queue.put({
      output: nodeOutput('inventory', event),
      ...(order?.trace && { trace: order.trace }),
      onPublished: () => {
        if (reported !== null) historyUnreadable = null;
      },
    });
    return status;
  };
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
