/**
 * Writes a synthetic month to the file of an embedded log, as the log of a fleet that has lived it:
 * `node lab/bench/month/write-month.ts --log FILE [--nodes 1000] [--days 30] [--seed N]`.
 */
import { parseArgs } from 'node:util';
import { openDatabase, type Tables } from '../../../packages/log/embedded/database.ts';
import { openEmbeddedLog } from '../../../packages/log/embedded.ts';
import { recordBytes } from '../../../packages/log/limits.ts';
import type { LogRecord } from '../../../packages/log/port.ts';
import { NODE_PARTITIONS } from '../../../schemas/events/topics.ts';
import { logContext, say } from '../context.ts';
import { createMonth, type MonthSize, WHOLE_MONTH } from './month.ts';
import { partitionRecords, policyRecords } from './partition.ts';

/** Room for any month that a test machine has time for. */
export const LOG_MAX_BYTES = 64 * 2 ** 30;
const WRITTEN_AT_ONCE = 500;

/** What was written. */
export interface WrittenMonth extends MonthSize {
  readonly beginMs: number;
  readonly endMs: number;
  readonly records: number;
  readonly bytes: number;
}

/** Records come and go one by one: a month is never in memory whole. */
export async function writeMonth(path: string, size: MonthSize): Promise<WrittenMonth> {
  const month = createMonth(size);
  await createLog(path);
  const database = await openDatabase(path, LOG_MAX_BYTES);
  const written = { records: 0, bytes: 0 };
  const startedMs = performance.now();
  const write = async (records: readonly LogRecord[]): Promise<void> => {
    await database.write((tables) => {
      for (const record of records) insert(tables, record);
    });
    written.records += records.length;
    written.bytes += records.reduce((sum, record) => sum + recordBytes(record), 0);
  };
  try {
    await inBatches(policyRecords(month), write);
    for (let partition = 0; partition < NODE_PARTITIONS; partition += 1) {
      await inBatches(partitionRecords(month, partition), write);
      say(progressText(partition + 1, written, performance.now() - startedMs));
    }
  } finally {
    database.close();
  }
  const { beginMs, endMs } = month;
  return { ...size, beginMs, endMs, ...written };
}

async function createLog(path: string): Promise<void> {
  await using log = await openEmbeddedLog(
    { path, maxBytes: LOG_MAX_BYTES, leavesRetention: true },
    logContext,
  );
  await log.createTopics();
}

async function inBatches(
  records: Iterable<LogRecord>,
  write: (records: readonly LogRecord[]) => Promise<void>,
): Promise<void> {
  let batch: LogRecord[] = [];
  for (const record of records) {
    batch.push(record);
    if (batch.length < WRITTEN_AT_ONCE) continue;
    await write(batch);
    batch = [];
  }
  await write(batch);
}

/** With the time that the record has, which a publisher could not choose. */
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

const progressText = (
  done: number,
  { records, bytes }: { records: number; bytes: number },
  ms: number,
): string =>
  `synthetic month: partition ${done} of ${NODE_PARTITIONS}, ${records} records, ${Math.round(bytes / 1e6)} MB, ` +
  `about ${Math.ceil(((ms / done) * (NODE_PARTITIONS - done)) / 1000)} s left`;

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      log: { type: 'string' },
      nodes: { type: 'string', default: String(WHOLE_MONTH.nodes) },
      days: { type: 'string', default: String(WHOLE_MONTH.days) },
      seed: { type: 'string', default: String(WHOLE_MONTH.seed) },
    },
  });
  if (values.log === undefined) throw new Error('--log FILE is missing');
  const size = { nodes: Number(values.nodes), days: Number(values.days), seed: Number(values.seed) };
  process.stdout.write(`${JSON.stringify(await writeMonth(values.log, size))}\n`);
}
