import type { TopicName } from '../../../../schemas/events/topics.ts';
import { partitionName } from '../../partition.ts';
import type { LogRecord } from '../../port.ts';
import type { FetchAnswer, FetchedPartition, FetchRequest } from '../client/cluster.ts';
import { toLogRecord } from '../protocol/record-batches.ts';

/** A partition that is read. */
export interface Cursor {
  readonly topic: TopicName;
  readonly partition: number;
  /** The next offset to fetch. */
  next: bigint;
  /** The end of the partition as last seen. */
  end: bigint;
  /** Whether the broker has told that end since somebody asked for this. */
  isEndTold: boolean;
  /**
   * `alone`: something in an answer could not be decoded, and it is to be found out whose it was. `resting`: it was this
   * one's, which is tried again later.
   */
  trust: 'full' | 'alone' | 'resting';
  /** Whether a batch that cannot be decoded is delivered as one record that says so; else it ends the reading, or stands still. */
  readonly isTolerant: boolean;
  readonly hasRoom: () => boolean;
  readonly deliver: (records: readonly LogRecord[]) => void;
  /** The partition ends before `next`, so it is not the one that was read. Reading goes on with its oldest record. */
  readonly onRewound: () => void;
  /** What of this partition cannot be decoded; null when it was read. */
  readonly report: (error: unknown) => void;
}

/** What one request asks for, and from where. */
export interface Asked {
  readonly cursors: readonly Cursor[];
  readonly from: ReadonlyMap<Cursor, bigint>;
  /** How long the broker may wait for data: not at all while a partition is left out for want of room, or that would wait too. */
  readonly maxWaitMs: number;
}

/** What is to be asked next of the broker that leads these partitions; null when nothing is. */
export function ask(led: readonly Cursor[], longWaitMs: number): Asked | null {
  const awake = led.filter(({ trust }) => trust !== 'resting');
  const open = awake.filter((cursor) => cursor.hasRoom());
  const suspect = open.find(({ trust }) => trust === 'alone');
  const cursors = suspect === undefined ? open : [suspect];
  if (cursors.length === 0) return null;
  return {
    cursors,
    from: new Map(cursors.map((cursor) => [cursor, cursor.next])),
    maxWaitMs: cursors.length === awake.length ? longWaitMs : 0,
  };
}

/** As kafkajs's request wants it: of each partition so many bytes at most, unless its first batch is larger. */
export function topicsOf({ cursors }: Asked, maxBytes: number): FetchRequest['topics'] {
  return [...Map.groupBy(cursors, ({ topic }) => topic)].map(([topic, group]) => ({
    topic,
    partitions: group.map(({ partition, next }) => ({
      partition,
      fetchOffset: next.toString(),
      maxBytes,
    })),
  }));
}

/** An answer may begin before the offset asked for, since batches are compressed whole. */
function accept(cursor: Cursor, { messages, highWatermark }: FetchedPartition): void {
  cursor.end = BigInt(highWatermark);
  cursor.isEndTold = cursor.end >= 0n;
  const wanted = messages.filter(({ offset }) => BigInt(offset) >= cursor.next);
  const last = wanted.at(-1);
  if (last === undefined) return;
  const records = wanted
    .filter(({ isControlRecord }) => isControlRecord !== true)
    .map((message) => toLogRecord(cursor.topic, cursor.partition, message));
  cursor.next = BigInt(last.offset) + 1n;
  if (records.length > 0) cursor.deliver(records);
}

/**
 * An answer without any record proves that nothing lies between what was asked for and the ends it tells. (A broker that
 * throttles tells no ends.)
 */
function skipGaps(answered: readonly Cursor[]): void {
  for (const cursor of answered) {
    if (cursor.next < cursor.end) cursor.next = cursor.end;
  }
}

/** Gives each cursor what was answered for it; one that was moved meanwhile gets nothing. */
export function distribute({ cursors, from }: Asked, { responses }: FetchAnswer): void {
  const fetched = new Map(
    responses.flatMap(({ topicName, partitions }) =>
      partitions.map((found) => [partitionName({ topic: topicName, partition: found.partition }), found]),
    ),
  );
  const answered = cursors.filter(
    (cursor) => from.get(cursor) === cursor.next && fetched.has(partitionName(cursor)),
  );
  for (const cursor of answered) {
    const partition = fetched.get(partitionName(cursor));
    if (partition !== undefined) accept(cursor, partition);
  }
  if ([...fetched.values()].every(({ messages }) => messages.length === 0)) skipGaps(answered);
}
