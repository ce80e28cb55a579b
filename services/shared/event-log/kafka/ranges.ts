import type { Cluster } from 'kafkajs';
import { backOffMs, pause } from '../back-off.ts';
import { topicSpec } from '../partition.ts';
import type { ReadFrom, ReadRequest } from '../port.ts';
import type { KafkaCore } from './core.ts';
import { toLogError } from './errors.ts';
import { listOffsets, requireOffset, type TopicPartition } from './offsets.ts';

const BACK_OFF = { firstMs: 100, mostMs: 2000 };
/** About half a minute: the leaders of a topic that was just created, or of a broker that went, are known by then. */
const TRIES = 20;

/** A part of a partition that is to be read. */
export interface Range {
  readonly at: TopicPartition;
  readonly from: bigint;
  readonly end: bigint;
}

/** What is asked of kafkajs's connections. */
export type OffsetConnections = Pick<Cluster, 'fetchTopicsOffset' | 'refreshMetadata'>;

/** From where to where each partition is to be read. A leader that does not know of its office yet is asked again. */
export async function readRanges(
  cluster: OffsetConnections,
  request: ReadRequest,
  { options, context }: Pick<KafkaCore, 'options' | 'context'>,
  signal: AbortSignal,
): Promise<Range[]> {
  for (let failures = 0; ; failures++) {
    try {
      if (failures > 0) await cluster.refreshMetadata();
      return await ranges(cluster, request);
    } catch (error) {
      const isLast = failures + 1 >= TRIES || !toLogError(options.brokers, error).retry;
      if (isLast || signal.aborted) throw error;
      await pause(backOffMs(BACK_OFF, failures, context.random), signal);
    }
  }
}

async function ranges(cluster: OffsetConnections, { topic, partition, from }: ReadRequest): Promise<Range[]> {
  const all = Array.from({ length: topicSpec(topic).partitions }, (_, number) => number);
  const numbers = partition === undefined ? all : [partition];
  const partitions = numbers.map((number) => ({ topic, partition: number }));
  const oldest = await listOffsets(cluster, partitions, { fromBeginning: true });
  const ends = await listOffsets(cluster, partitions, { fromBeginning: false });
  const first = from === 'earliest' ? null : await firstOffsets(cluster, partitions, from);
  return partitions.map((at) => {
    const low = requireOffset(oldest, at);
    const end = requireOffset(ends, at);
    return { at, from: first === null ? low : clamp(first(at) ?? end, low, end), end };
  });
}

/** Where reading begins, by partition. */
async function firstOffsets(
  cluster: OffsetConnections,
  partitions: readonly TopicPartition[],
  from: Exclude<ReadFrom, 'earliest'>,
): Promise<(at: TopicPartition) => bigint | undefined> {
  if ('offset' in from) return () => from.offset;
  const found = await listOffsets(cluster, partitions, { fromTimestamp: from.timestampMs });
  return ({ topic, partition }) => found.get(`${topic}/${partition}`);
}

const clamp = (offset: bigint, low: bigint, high: bigint): bigint => {
  if (offset < low) return low;
  return offset > high ? high : offset;
};
