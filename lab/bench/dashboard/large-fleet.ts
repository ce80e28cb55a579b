import { createHash } from 'node:crypto';
import type { Output } from '../../../packages/decision/handler.ts';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import { openDatabase, type Tables } from '../../../packages/log/embedded/database.ts';
import { openEmbeddedLog } from '../../../packages/log/embedded.ts';
import { recordBytes } from '../../../packages/log/limits.ts';
import type { LogRecord } from '../../../packages/log/port.ts';
import type { DiskStats } from '../../../schemas/events/disk-stats.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import { fold, NO_DISK_HISTORY } from '../../../services/node/agent/disks.ts';
import { appliedPolicy } from '../../../test/fixtures/applied-policy.ts';
import { filesystems } from '../../../test/fixtures/filesystems.ts';
import { objectResult, removed } from '../../../test/fixtures/results.ts';
import { DAY, GIB, HOUR, instant, MINUTE, SECOND } from '../../../test/fixtures/time.ts';
import { logContext } from '../context.ts';
import { fullNode } from '../inventories.ts';
import { type Appending, createAppending } from '../month/append.ts';
import { LOG_MAX_BYTES } from '../month/write-month.ts';
import { benchNode } from '../nodes.ts';

export interface LargeFleet {
  readonly nodes: number;
  /** Behind the newest minutes: removals, and inventories and statistics here and there. */
  readonly days: number;
  /** By the log's clock. */
  readonly endMs: number;
}

/** What a dashboard reads before it shows anything. */
const NEWEST_MINUTES = 6;
const STATS_MINUTES = 4;
const INVENTORY_EVERY_MINUTES = 5;
const REMOVALS_A_DAY = 5;
const SAMPLE_MS = 10 * SECOND;
const CAPACITY_BYTES = 500 * GIB;
/** Nodes differ; so many histories are enough for that. */
const KINDS_OF_NODES = 40;
const IMAGES = 50;
const AT_ONCE = 2_000;

/**
 * Writes the log of a fleet as a dashboard finds it: each node's statistics of the last minutes with two hours of the past in them, an
 * inventory of each, and days of removals.
 */
export async function writeLargeFleet(
  path: string,
  fleet: LargeFleet,
): Promise<{ readonly records: number }> {
  await createLog(path);
  const database = await openDatabase(path, LOG_MAX_BYTES);
  const append = createAppending('large-fleet');
  let records = 0;
  let batch: LogRecord[] = [];
  const write = async (): Promise<void> => {
    await database.write((tables) => {
      for (const record of batch) insert(tables, record);
    });
    records += batch.length;
    batch = [];
  };
  try {
    for (const record of recordsOf(fleet, append)) {
      batch.push(record);
      if (batch.length >= AT_ONCE) await write();
    }
    await write();
  } finally {
    database.close();
  }
  return { records };
}

type Put = (output: Output, atMs: number) => LogRecord;

function* recordsOf(fleet: LargeFleet, append: Appending): Generator<LogRecord> {
  const put: Put = (output, atMs) => append({ output, atMs, source: '/fleetgc/bench', cause: null });
  const policy = appliedPolicy({ name: 'default' });
  yield put({ topic: 'policies', key: 'default', event: policy }, fleet.endMs - fleet.days * DAY);
  yield* pastRecords(fleet, put);
  yield* newestRecords(fleet, put);
}

function* pastRecords({ nodes, days, endMs }: LargeFleet, put: Put): Generator<LogRecord> {
  const rounds = Math.floor(days * REMOVALS_A_DAY);
  for (let round = 0; round < rounds; round += 1) {
    const roundMs = endMs - HOUR - Math.floor(((rounds - round) / REMOVALS_A_DAY) * DAY);
    for (let node = 0; node < nodes; node += 1)
      yield put(nodeOutput('results', removalOf(node, round)), roundMs + node);
  }
}

/** Minute by minute, in each of them the nodes one after the other. */
function* newestRecords({ nodes, endMs }: LargeFleet, put: Put): Generator<LogRecord> {
  const kinds = Array.from({ length: KINDS_OF_NODES }, (_, kind) => kindOf(kind));
  for (let minutes = NEWEST_MINUTES; minutes > 0; minutes -= 1)
    for (let node = 0; node < nodes; node += 1) {
      const atMs = endMs - minutes * MINUTE + Math.floor((node * (MINUTE - SECOND)) / nodes);
      const kind = kindFor(kinds, node);
      const said = { node, kind, atMs, takenAt: taken(atMs, endMs) };
      if (node % INVENTORY_EVERY_MINUTES === minutes % INVENTORY_EVERY_MINUTES)
        yield put(nodeOutput('inventory', inventoryOf(said)), atMs);
      if (minutes <= STATS_MINUTES) yield put(nodeOutput('diskStats', statsOf(said)), atMs);
    }
}

interface KindOfNode {
  readonly filesystems: DiskStats['filesystems'];
  readonly history: DiskStats['history'];
  readonly inventory: CompleteInventory;
}

/** Two hours of one disk that fills and is relieved; the last sample is of the time when the log ends. */
function kindOf(kind: number): KindOfNode {
  let history = NO_DISK_HISTORY;
  let now = filesystems();
  const uptimeMs = instant().sinceBootMs;
  for (let agoMs = 2 * HOUR; agoMs >= 0; agoMs -= SAMPLE_MS) {
    const used = 30 + kind + 10 * Math.abs(Math.sin(agoMs / (40 * MINUTE) + kind));
    const availableBytes = Math.floor(CAPACITY_BYTES * (1 - used / 100));
    now = filesystems({
      device: '259:1',
      capacityBytes: String(CAPACITY_BYTES),
      availableBytes: String(availableBytes),
      inodes: '6553600',
      inodesFree: String(5_000_000 - Math.floor(used * 1000)),
    });
    history = fold(history, now, uptimeMs - agoMs);
  }
  const inventory = fullNode(`kind-${kind}`, { images: IMAGES, containers: 20 });
  return { filesystems: now, history, inventory: { ...inventory, reclaim: null, filesystems: now } };
}

const kindFor = (kinds: readonly KindOfNode[], node: number): KindOfNode => {
  const kind = kinds[node % kinds.length];
  if (kind === undefined) throw new Error('there are no kinds of nodes');
  return kind;
};

const taken = (atMs: number, endMs: number): Instant =>
  instant({ wallTimeMs: atMs, sinceBootMs: instant().sinceBootMs - (endMs - atMs) });

interface Said {
  readonly node: number;
  readonly kind: KindOfNode;
  readonly atMs: number;
  readonly takenAt: Instant;
}

const statsOf = ({ node, kind, atMs, takenAt }: Said): DiskStats => ({
  type: 'fleetgc.node.disk-stats',
  version: 1,
  id: `stats-${node}-${atMs}`,
  ...benchNode(node),
  takenAt,
  nodeLabels: { 'fleetgc.io/pool': `pool-${node % 7}`, zone: `zone-${node % 3}` },
  filesystems: kind.filesystems,
  history: kind.history,
});

const inventoryOf = ({ node, kind, atMs, takenAt }: Said): CompleteInventory => ({
  ...kind.inventory,
  ...benchNode(node),
  id: `inventory-${node}-${atMs}`,
  takenAt,
});

const removalOf = (node: number, round: number) =>
  objectResult({
    id: `result-${node}-${round}`,
    ...benchNode(node),
    object: {
      kind: 'image',
      id: `sha256:${createHash('sha256')
        .update(`${node % 500}/${round}`)
        .digest('hex')}`,
    },
    result: removed(400_000_000 + node),
  });

async function createLog(path: string): Promise<void> {
  await using log = await openEmbeddedLog(
    { path, maxBytes: LOG_MAX_BYTES, leavesRetention: true },
    logContext,
  );
  await log.createTopics();
}

function insert({ partitions, records }: Tables, record: LogRecord): void {
  const partition = partitions.require(record.topic, record.partition);
  records.insert({
    partitionId: partition.id,
    offset: Number(record.offset),
    timestampMs: record.timestampMs,
    sizeBytes: recordBytes(record),
    key: record.key ?? '',
    headers: JSON.stringify(record.headers),
    value: record.value,
  });
}
