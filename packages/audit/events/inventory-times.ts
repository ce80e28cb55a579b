import pMap from 'p-map';
import { TOPICS } from '../../../schemas/events/topics.ts';
import type { EventLog, ReadFrom } from '../../log/port.ts';
import { DAY_MS } from '../../process/durations.ts';
import { firstRecord } from '../../records/read-log.ts';
import { ALL_PARTITIONS } from './reading.ts';

/** From when to when a log has inventories, by its own clock, epoch milliseconds. */
export interface InventoryTimes {
  readonly firstMs: number;
  readonly lastMs: number;
}

const PARTITIONS_AT_ONCE = 4;
/** So much is read to its end to find the last record. */
const NEAR_END_MS = 60_000;
/** Clocks of brokers may be ahead of ours. */
const AHEAD_MS = DAY_MS;

const { name: topic } = TOPICS.inventory;

/** Looked up for those who asked for a time of which nothing is there; `null` where there is no inventory at all. */
export async function inventoryTimes(
  log: Pick<EventLog, 'read'>,
  nowMs: number,
  signal: AbortSignal,
): Promise<InventoryTimes | null> {
  const firsts = await pMap(
    ALL_PARTITIONS,
    (partition) => firstRecord(log, { topic, partition, from: 'earliest' }, signal),
    { concurrency: PARTITIONS_AT_ONCE },
  );
  const times = firsts.flatMap((record) => (record === null ? [] : [record.timestampMs]));
  if (times.length === 0) return null;
  const knownMs = Math.max(...times);
  const lastMs = await lastTime(log, { knownMs, endMs: Math.max(nowMs, knownMs) + AHEAD_MS }, signal);
  return { firstMs: Math.min(...times), lastMs };
}

interface Bounds {
  /** A record of this time is there. */
  readonly knownMs: number;
  /** None of this time or later is. */
  readonly endMs: number;
}

/** A log is read forwards alone, so its end is come to by halves. */
async function lastTime(
  log: Pick<EventLog, 'read'>,
  { knownMs, endMs }: Bounds,
  signal: AbortSignal,
): Promise<number> {
  if (endMs - knownMs <= NEAR_END_MS) return await newestFrom(log, knownMs, signal);
  const middleMs = Math.floor((knownMs + endMs) / 2);
  const record = await firstRecord(log, { topic, from: { timestampMs: middleMs } }, signal);
  const bounds = record === null ? { knownMs, endMs: middleMs } : { knownMs: record.timestampMs, endMs };
  return await lastTime(log, bounds, signal);
}

async function newestFrom(
  log: Pick<EventLog, 'read'>,
  timestampMs: number,
  signal: AbortSignal,
): Promise<number> {
  const from: ReadFrom = { timestampMs };
  let newestMs = timestampMs;
  for await (const event of log.read({ topic, from, to: 'end' }, signal))
    if (event.kind === 'record') newestMs = Math.max(newestMs, event.record.timestampMs);
  return newestMs;
}
