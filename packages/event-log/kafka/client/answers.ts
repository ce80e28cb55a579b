import { type Asked, type Cursor, cursorName } from '../reading/cursor.ts';
import { type FetchedMessage, toLogRecord } from '../reading/decode.ts';

interface FetchedPartition {
  readonly partition: number;
  readonly highWatermark: string;
  readonly messages: readonly FetchedMessage[];
}

/** What a broker answers, as kafkajs decodes it. */
export interface FetchAnswer {
  readonly responses: readonly {
    readonly topicName: string;
    readonly partitions: readonly FetchedPartition[];
  }[];
}

/** An answer may begin before the offset asked for, since batches are compressed whole. */
function accept(cursor: Cursor, { messages, highWatermark }: FetchedPartition): void {
  cursor.end = BigInt(highWatermark);
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
      partitions.map((partition) => [`${topicName}/${partition.partition}`, partition]),
    ),
  );
  const answered = cursors.filter(
    (cursor) => from.get(cursor) === cursor.next && fetched.has(cursorName(cursor)),
  );
  for (const cursor of answered) {
    const partition = fetched.get(cursorName(cursor));
    if (partition !== undefined) accept(cursor, partition);
  }
  if ([...fetched.values()].every(({ messages }) => messages.length === 0)) skipGaps(answered);
}
