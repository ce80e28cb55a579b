import { randomUUID } from 'node:crypto';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import type { EventLog } from '../../../packages/log/port.ts';
import { pause } from '../../../packages/process/backoff.ts';
import { randomTraceIds } from '../../../packages/process/system-sources.ts';
import { createPublisher } from '../../../packages/records/publisher.ts';
import { UNSIGNED } from '../../../packages/records/trust/signer.ts';
import type { NodeIdentity } from '../../../schemas/events/identity.ts';
import type { Inventory } from '../../../schemas/events/inventory.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { image, inventory } from '../../fixtures/inventory.ts';
import { reclaim } from '../../fixtures/reclaim.ts';

export const LOAD_CLUSTER = 'load';
const IMAGES = 20;
const LOOK_MS = 100;

export interface LoadOptions {
  readonly nodes: number;
  /** Of all nodes together. */
  readonly inventoriesPerSecond: number;
  /** Whether each inventory comes with disk statistics. */
  readonly diskStats?: boolean;
  /** Asked before each report: nobody reports while it is true, so that a slow machine is not given ever more to do. */
  readonly isEnough?: () => boolean;
}

/** Nodes that only report, each under pressure all the time: every one of their inventories asks for a command. */
export interface Load extends AsyncDisposable {
  /** Ids of the inventories that the log acknowledged. */
  published(): readonly string[];
  /** Ids of the disk statistics. */
  publishedDiskStats(): readonly string[];
  stop(): Promise<void>;
}

/** Publishes inventories, each node at its own pace, until it is stopped. */
export function startLoad(log: EventLog, options: LoadOptions): Load {
  const { nodes, inventoriesPerSecond, isEnough = () => false } = options;
  const publisher = createPublisher({
    signer: UNSIGNED,
    log,
    source: '/fleetgc/load',
    now: Date.now,
    ids: randomTraceIds,
  });
  const everyMs = (nodes * 1000) / inventoriesPerSecond;
  const published: string[] = [];
  const publishedDiskStats: string[] = [];
  const stopping = new AbortController();
  const reportFrom = async (index: number): Promise<void> => {
    const identity = { cluster: LOAD_CLUSTER, node: `node-${index}`, nodeInstance: randomUUID() };
    await pause((everyMs * index) / nodes, stopping.signal);
    for (let turn = 0; !stopping.signal.aborted; turn += 1) {
      while (isEnough() && !stopping.signal.aborted) await pause(LOOK_MS, stopping.signal);
      const event = inventoryOf(identity, turn);
      const stats = options.diskStats ? [diskStats({}, { ...identity, id: `disk-stats-${event.id}` })] : [];
      await publisher.publish([
        nodeOutput('inventory', event),
        ...stats.map((one) => nodeOutput('diskStats', one)),
      ]);
      published.push(event.id);
      publishedDiskStats.push(...stats.map(({ id }) => id));
      await pause(everyMs, stopping.signal);
    }
  };
  const running = Promise.all(Array.from({ length: nodes }, (_, index) => reportFrom(index)));
  // Told when it is stopped; until then it must not end the process.
  running.catch(() => undefined);
  const stop = async (): Promise<void> => {
    stopping.abort();
    await running;
  };
  return {
    published: () => published,
    publishedDiskStats: () => publishedDiskStats,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function inventoryOf(identity: NodeIdentity, turn: number): Inventory {
  const { node } = identity;
  const images = Array.from({ length: IMAGES }, (_, nth) => image(`sha256:${node}-${nth}`));
  const id = `inventory-${node}-${turn}`;
  return inventory({
    ...identity,
    id,
    images,
    trigger: 'order',
    reclaim: reclaim({ id: `reclaim-${id}` }),
  });
}
