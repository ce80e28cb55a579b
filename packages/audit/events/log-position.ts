import type { Instant } from '../../../schemas/events/time.ts';
import type { TopicName } from '../../../schemas/events/topics.ts';
import { topicSpec } from '../../log/partition.ts';
import type { LogReader, LogRecord } from '../../log/port.ts';
import { FleetGcError } from '../../process/errors.ts';
import { firstRecord } from '../../records/read-log.ts';
import { timeText } from '../../text/time-text.ts';

/** Where a record lies, and since when by the log's clock. */
export interface Place {
  readonly topic: string;
  readonly partition: number;
  readonly offset: string;
  readonly timestampMs: number;
}

export const placeOf = ({ topic, partition, offset, timestampMs }: LogRecord): Place => ({
  topic,
  partition,
  offset: String(offset),
  timestampMs,
});

/** `topic/partition@offset`. */
export const placeText = ({ topic, partition, offset }: Omit<Place, 'timestampMs'>): string =>
  `${topic}/${partition}@${offset}`;

/** A place to be looked up. */
export interface LogPosition {
  readonly topic: TopicName;
  readonly partition: number;
  readonly offset: bigint;
}

/** When the record of this position was written, by the log's clock. Throws `NOT_FOUND` where there is none. */
export async function timeOfPosition(
  log: LogReader,
  position: LogPosition,
  signal: AbortSignal,
): Promise<number> {
  const { topic, partition, offset } = position;
  const next = await firstRecord(log, { topic, partition, from: { offset } }, signal);
  if (next?.offset === offset) return next.timestampMs;
  const oldest = next ?? (await firstRecord(log, { topic, partition, from: 'earliest' }, signal));
  throw new FleetGcError(
    'NOT_FOUND',
    `there is no record ${textOf(position)}: ${whyNot(topic, { next, oldest })}`,
  );
}

const textOf = ({ topic, partition, offset }: LogPosition): string =>
  placeText({ topic, partition, offset: String(offset) });

interface Neighbours {
  /** The first record after where it would be. */
  readonly next: LogRecord | null;
  readonly oldest: LogRecord | null;
}

function whyNot(topic: TopicName, { next, oldest }: Neighbours): string {
  if (oldest === null) return 'nothing lies in that partition';
  if (next === null) return 'the partition ends before it';
  const deleted = topicSpec(topic).compacted
    ? 'newer ones of its key took its place'
    : 'retention deleted it';
  return `${deleted}, or it never was there. The next is ${placeText(placeOf(next))}, of ${timeText(next.timestampMs)}`;
}

/** Tells the objects of one node apart. */
export const objectKey = ({ kind, id }: { readonly kind: string; readonly id: string }): string =>
  `${kind} ${id}`;

/** Times of one boot are compared; of two boots, the log's order counts. */
export const isAfter = (later: Instant, earlier: Instant): boolean =>
  later.bootId !== earlier.bootId || later.sinceBootMs > earlier.sinceBootMs;

/** Of one boot alone: what was taken in another boot is never older than what was done before it. */
export const isBefore = (earlier: Instant, later: Instant): boolean =>
  earlier.bootId === later.bootId && earlier.sinceBootMs < later.sinceBootMs;
