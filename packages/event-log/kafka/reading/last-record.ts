import type { Cluster } from 'kafkajs';
import { tolerantWithin } from '../client/inflation.ts';
import type { FetchedMessage } from './decode.ts';
import type { TopicPartition } from './offsets.ts';

const WAIT_MS = 500;
/** As much as a reader of one key holds of an answer. */
const MOST_BYTES = 32 * 1024 * 1024;

interface OnePartitionAnswer {
  readonly responses: readonly {
    readonly partitions: readonly { readonly messages: readonly FetchedMessage[] }[];
  }[];
}

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
  const answer: OnePartitionAnswer = await tolerantWithin(MOST_BYTES, () => broker.fetch(request)).catch(
    emptyWhenOutOfRange,
  );
  const messages = answer.responses
    .flatMap(({ partitions }) => partitions)
    .flatMap((found) => found.messages);
  const last = messages.at(-1);
  return last === undefined ? null : Number(last.timestamp);
}

/** Retention took the last record too. */
function emptyWhenOutOfRange(error: unknown): OnePartitionAnswer {
  if (error instanceof Error && error.name === 'KafkaJSOffsetOutOfRange') return { responses: [] };
  throw error;
}
