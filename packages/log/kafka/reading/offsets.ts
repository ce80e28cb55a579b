import type { TopicName } from '../../../../schemas/events/topics.ts';
import { FleetGcError } from '../../../process/errors.ts';
import { partitionName } from '../../partition.ts';
import type { Cluster, FetchAnswer } from '../client/cluster.ts';
import { tolerantWithin } from '../protocol/compression.ts';

export interface TopicPartition {
  readonly topic: TopicName;
  readonly partition: number;
}

type Where = { readonly fromBeginning: boolean } | { readonly fromTimestamp: number };

/** As kafkajs's requests want them. */
export const byTopic = (partitions: readonly TopicPartition[]) =>
  [...Map.groupBy(partitions, ({ topic }) => topic)].map(([topic, group]) => ({
    topic,
    partitions: group.map(({ partition }) => ({ partition })),
  }));

/** A partition without a leader answers nothing; guessing an offset would skip records or repeat them all. */
export function requireOffset(offsets: ReadonlyMap<string, bigint>, at: TopicPartition): bigint {
  const offset = offsets.get(partitionName(at));
  if (offset !== undefined) return offset;
  throw new FleetGcError(
    'LOG_UNREACHABLE',
    `Kafka tells no offsets of ${partitionName(at)}: the partition has no leader at the moment. It is tried again.`,
  );
}

/** Asks the leaders for offsets: the oldest, the end, or the first at or after a time (the end when there is none). */
export async function listOffsets(
  cluster: Pick<Cluster, 'fetchTopicsOffset'>,
  partitions: readonly TopicPartition[],
  where: Where,
): Promise<ReadonlyMap<string, bigint>> {
  if (partitions.length === 0) return new Map();
  const asked = inWholeMs(where);
  const found = await cluster.fetchTopicsOffset(byTopic(partitions).map((topic) => ({ ...topic, ...asked })));
  const offsets = found.flatMap(({ topic, partitions: answers }) =>
    answers.map(({ partition, offset }) => ({
      name: partitionName({ topic, partition }),
      offset: BigInt(offset),
    })),
  );
  return new Map(offsets.filter(({ offset }) => offset >= 0n).map(({ name, offset }) => [name, offset]));
}

/** Kafka knows no parts of a millisecond. */
const inWholeMs = (where: Where): Where =>
  'fromTimestamp' in where ? { fromTimestamp: Math.ceil(where.fromTimestamp) } : where;

const WAIT_MS = 500;
/** As much as a reader of one key holds of an answer. */
const MOST_BYTES = 32 * 1024 * 1024;

/** The broker's time of the last record before `end`; null when the partition is empty. */
export async function lastTimestampMs(
  cluster: Cluster,
  { topic, partition }: TopicPartition,
  end: bigint,
): Promise<number | null> {
  const [leader] = Object.keys(cluster.findLeaderForPartitions(topic, [partition]));
  if (end === 0n || leader === undefined) return null;
  const broker = await cluster.findBroker({ nodeId: leader });
  const fetchOffset = (end - 1n).toString();
  const request = {
    maxWaitTime: WAIT_MS,
    topics: [{ topic, partitions: [{ partition, fetchOffset, maxBytes: 1 }] }],
  };
  // Whatever lies there, its time stands outside of what cannot be read.
  const answer: FetchAnswer = await tolerantWithin(MOST_BYTES, () => broker.fetch(request)).catch(
    emptyWhenOutOfRange,
  );
  const messages = answer.responses
    .flatMap(({ partitions }) => partitions)
    .flatMap((found) => found.messages);
  const last = messages.at(-1);
  return last === undefined ? null : Number(last.timestamp);
}

/** Retention took the last record too. */
function emptyWhenOutOfRange(error: unknown): FetchAnswer {
  if (error instanceof Error && error.name === 'KafkaJSOffsetOutOfRange') return { responses: [] };
  throw error;
}
