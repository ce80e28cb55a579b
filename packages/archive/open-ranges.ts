import type { TopicName } from '../../schemas/events/topics.ts';
import { recordBytes } from '../log/limits.ts';
import type { LogRecord } from '../log/port.ts';
import { DAY_MS } from '../process/durations.ts';

/** Consecutive records of a partition that are to become one file. */
export interface OpenRange {
  readonly topic: TopicName;
  readonly partition: number;
  readonly firstOffset: bigint;
  readonly lastOffset: bigint;
  readonly rows: number;
  readonly rawBytes: number;
  readonly oldestMs: number;
  readonly newestMs: number;
  readonly lastMs: number;
}

/** What a file may hold at most; one larger record has a file of its own. */
export interface FileLimits {
  readonly rows: number;
  /** Before compression. A reader holds one file of each topic in memory; larger files would compress better. */
  readonly rawBytes: number;
}

export const FILE_LIMITS: FileLimits = { rows: 100_000, rawBytes: 16 * 1024 * 1024 };

const dayOf = (epochMs: number): number => Math.floor(epochMs / DAY_MS);

/** A range of this record alone. */
export const rangeOf = (record: LogRecord): OpenRange => ({
  topic: record.topic,
  partition: record.partition,
  firstOffset: record.offset,
  lastOffset: record.offset,
  rows: 1,
  rawBytes: recordBytes(record),
  oldestMs: record.timestampMs,
  newestMs: record.timestampMs,
  lastMs: record.timestampMs,
});

/** The range with the next record. */
export const extended = (range: OpenRange, record: LogRecord): OpenRange => ({
  ...range,
  lastOffset: record.offset,
  rows: range.rows + 1,
  rawBytes: range.rawBytes + recordBytes(record),
  oldestMs: Math.min(range.oldestMs, record.timestampMs),
  newestMs: Math.max(range.newestMs, record.timestampMs),
  lastMs: record.timestampMs,
});

/** Whether the record begins a new file: another day (UTC) of the log's clock, or the file is full. */
export const closesBefore = (range: OpenRange, record: LogRecord, limits: FileLimits): boolean =>
  dayOf(record.timestampMs) !== dayOf(range.lastMs) ||
  range.rows >= limits.rows ||
  range.rawBytes + recordBytes(record) > limits.rawBytes;
