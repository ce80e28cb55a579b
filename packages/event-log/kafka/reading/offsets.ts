import type { Cluster } from 'kafkajs';
import type { TopicName } from '../../../../schemas/events/topics.ts';
import { FleetGcError } from '../../../process/errors.ts';

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

/** `topic/partition`. */
export const keyOf = (topic: string, partition: number): string => `${topic}/${partition}`;

/** A partition without a leader answers nothing; guessing an offset would skip records or repeat them all. */
export function requireOffset(
  offsets: ReadonlyMap<string, bigint>,
  { topic, partition }: TopicPartition,
): bigint {
  const offset = offsets.get(keyOf(topic, partition));
  if (offset !== undefined) return offset;
  throw new FleetGcError(
    'LOG_UNREACHABLE',
    `Kafka tells no offsets of ${keyOf(topic, partition)}: the partition has no leader at the moment. It is tried again.`,
  );
}

/** Asks the leaders for offsets: the oldest, the end, or the first at or after a time (the end when there is none). */
export async function listOffsets(
  cluster: Pick<Cluster, 'fetchTopicsOffset'>,
  partitions: readonly TopicPartition[],
  where: Where,
): Promise<ReadonlyMap<string, bigint>> {
  if (partitions.length === 0) return new Map();
  const found = await cluster.fetchTopicsOffset(byTopic(partitions).map((topic) => ({ ...topic, ...where })));
  const offsets = found.flatMap(({ topic, partitions: answers }) =>
    answers.map(({ partition, offset }) => ({ name: keyOf(topic, partition), offset: BigInt(offset) })),
  );
  return new Map(offsets.filter(({ offset }) => offset >= 0n).map(({ name, offset }) => [name, offset]));
}
