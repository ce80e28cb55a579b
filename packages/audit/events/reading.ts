import pMap from 'p-map';
import type { SubjectKind } from '../../../schemas/events/identity.ts';
import { NODE_PARTITIONS, TOPICS, type TopicAbout, type TopicId } from '../../../schemas/events/topics.ts';
import type { LogReader, LogRecord, ReadFrom } from '../../log/port.ts';
import { DAY_MS } from '../../process/durations.ts';
import { LinkedController } from '../../process/linked-controller.ts';
import { firstRecord, type RecordedEvent, readPartition, type TimeRange } from '../../records/read-log.ts';

export const ALL_PARTITIONS: readonly number[] = Array.from({ length: NODE_PARTITIONS }, (_, n) => n);

/** What an audit reads, by whom it is about: another kind of subject has to be given its topics, or none. */
export type SubjectTopicsRead = { readonly [Kind in SubjectKind]: readonly TopicAbout<Kind>[] };

/** How far a reading of many partitions is. */
export interface ReadingProgress {
  /** Partitions that are done; of one in hand perhaps the part of its time that went by. */
  readonly done: number;
  readonly of: number;
  readonly records: number;
}

/** What to read of the partitions of nodes. */
interface NodesReading {
  readonly log: LogReader;
  readonly topics: readonly TopicId[];
  readonly range: TimeRange;
  readonly partitions: readonly number[];
  readonly partitionsAtOnce: number;
  readonly onProgress: (progress: ReadingProgress) => void;
}

/** Takes the events of one partition, in the order of `readPartition`. */
export interface PartitionTaker<Taken> {
  /** Whether the record counts as read. */
  take(recorded: RecordedEvent): boolean;
  /** Nothing more comes. */
  finish(): Taken;
}

/** Who takes the records of each topic. */
export type TopicTakers<Id extends TopicId, Taken> = Readonly<Record<Id, (record: LogRecord) => Taken>>;

const hasTaker = <Id extends TopicId>(takers: TopicTakers<Id, unknown>, topicId: TopicId): topicId is Id =>
  topicId in takers;

/** Gives a record to whoever takes its topic; nobody asked for others. */
export const takeByTopic = <Id extends TopicId, Taken>(
  takers: TopicTakers<Id, Taken>,
  { topicId, record }: RecordedEvent,
): Taken | undefined => (hasTaker(takers, topicId) ? takers[topicId](record) : undefined);

const PROGRESS_EVERY_RECORDS = 50;

/** What came of each partition. The first failure ends them all; throws `INTERRUPTED` when `signal` aborts. */
export async function readNodes<Taken>(
  { log, topics, range, partitions, partitionsAtOnce, onProgress }: NodesReading,
  begin: (partition: number, signal: AbortSignal) => Promise<PartitionTaker<Taken>>,
  signal: AbortSignal,
): Promise<readonly Taken[]> {
  using ending = new LinkedController(signal);
  const of = partitions.length;
  let done = 0;
  let records = 0;
  const readOne = async (partition: number): Promise<Taken> => {
    const taker = await begin(partition, ending.signal);
    for await (const recorded of readPartition(log, { topics, partition, range }, ending.signal)) {
      if (!taker.take(recorded)) continue;
      records += 1;
      if (records % PROGRESS_EVERY_RECORDS === 0) onProgress({ done, of, records });
    }
    done += 1;
    return taker.finish();
  };
  try {
    return await pMap(partitions, readOne, { concurrency: partitionsAtOnce });
  } finally {
    ending.abort();
  }
}

/** Every record of a topic without nodes, from its first to what lay there at the beginning; without a group. */
export async function* readWholeTopic(
  log: LogReader,
  topicId: TopicId,
  signal: AbortSignal,
): AsyncGenerator<LogRecord, void> {
  const request = { topic: TOPICS[topicId].name, from: 'earliest', to: 'end' } as const;
  for await (const event of log.read(request, signal)) if (event.kind === 'record') yield event.record;
}

/** From when to when records were read, by the log's clock, epoch milliseconds; both `null` where there was none. */
export class ReadSpan {
  firstMs: number | null = null;
  lastMs: number | null = null;

  reach(timestampMs: number): void {
    this.firstMs = Math.min(timestampMs, this.firstMs ?? timestampMs);
    this.lastMs = Math.max(timestampMs, this.lastMs ?? timestampMs);
  }
}

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
  log: LogReader,
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
async function lastTime(log: LogReader, { knownMs, endMs }: Bounds, signal: AbortSignal): Promise<number> {
  if (endMs - knownMs <= NEAR_END_MS) return await newestFrom(log, knownMs, signal);
  const middleMs = Math.floor((knownMs + endMs) / 2);
  const record = await firstRecord(log, { topic, from: { timestampMs: middleMs } }, signal);
  const bounds = record === null ? { knownMs, endMs: middleMs } : { knownMs: record.timestampMs, endMs };
  return await lastTime(log, bounds, signal);
}

async function newestFrom(log: LogReader, timestampMs: number, signal: AbortSignal): Promise<number> {
  const from: ReadFrom = { timestampMs };
  let newestMs = timestampMs;
  for await (const event of log.read({ topic, from, to: 'end' }, signal))
    if (event.kind === 'record') newestMs = Math.max(newestMs, event.record.timestampMs);
  return newestMs;
}
