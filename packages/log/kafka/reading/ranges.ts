import { backoffMs } from '../../../process/backoff.ts';
import { FleetGcError } from '../../../process/errors.ts';
import { partitionName, topicSpec } from '../../partition.ts';
import type { ReadFrom, ReadRequest } from '../../port.ts';
import { RETRY_BACKOFFS } from '../../retry-backoffs.ts';
import type { Cluster } from '../client/cluster.ts';
import { protocolType } from '../client/errors.ts';
import type { KafkaConnection } from '../client/kafka-connection.ts';
import { listOffsets, requireOffset, type TopicPartition } from './offsets.ts';

/** About half a minute, for a reading that is to end: the leaders of a topic that was just created, or of a broker that went, are known by then. */
const TRIES = 20;

/** A part of a partition that is to be read. */
export interface Range {
  readonly at: TopicPartition;
  readonly from: bigint;
  readonly end: bigint;
}

/** What is asked of kafkajs's connections. */
export type OffsetConnections = Pick<Cluster, 'fetchTopicsOffset' | 'refreshMetadata'>;

export interface RangeReading {
  readonly connection: Pick<KafkaConnection, 'context' | 'explain' | 'reached'>;
  /** Resolves after `ms`, or when the signal aborts. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Called when a broker answered, also where the answer does not help yet. */
  readonly onAnswer: () => void;
  readonly signal: AbortSignal;
}

/**
 * From where to where each partition is to be read. A leader that does not know of its office yet is asked again: for
 * ever by a reading that is for ever, and the log counts as out of reach meanwhile. Not with cockatiel: a try differs from the first
 * one, whether there is another depends on what failed, and waiting is given.
 */
export async function readRanges(
  cluster: OffsetConnections,
  request: ReadRequest,
  { connection, wait, onAnswer, signal }: RangeReading,
): Promise<Range[]> {
  const tries = request.to === 'forever' ? Number.POSITIVE_INFINITY : TRIES;
  const isLast = (failures: number, error: unknown): boolean =>
    failures >= tries || !connection.explain(error).retry || signal.aborted;
  for (let failures = 0; ; failures++) {
    try {
      if (failures > 0) {
        await cluster.refreshMetadata();
        onAnswer();
      }
      const found = await ranges(cluster, request);
      connection.reached();
      return found;
    } catch (error) {
      if (isLast(failures + 1, error)) throw error;
      await wait(backoffMs(RETRY_BACKOFFS.range, failures, connection.context.random), signal);
    }
  }
}

async function ranges(cluster: OffsetConnections, request: ReadRequest): Promise<Range[]> {
  const { topic, partition, from, to } = request;
  const all = Array.from({ length: topicSpec(topic).partitions }, (_, number) => number);
  const numbers = partition === undefined ? all : [partition];
  const partitions = numbers.map((number) => ({ topic, partition: number }));
  const oldest = await listOffsets(cluster, partitions, { fromBeginning: true });
  const ends = await listOffsets(cluster, partitions, { fromBeginning: false });
  const first = from === 'earliest' ? null : await firstOffsets(cluster, partitions, from);
  return partitions.map((at) => {
    const low = requireOffset(oldest, at);
    const end = endOf(requireOffset(ends, at), to);
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
  const found = await listOffsets(cluster, partitions, { fromTimestamp: from.timestampMs }).catch(
    (error: unknown) => {
      if (protocolType(error) !== 'UNKNOWN') throw error;
      throw new FleetGcError('LOG_UNREACHABLE', timeNotFound(partitions), { cause: error });
    },
  );
  return (at) => found.get(partitionName(at));
}

/** Only about a time has a broker to read what it keeps: it answers all else, so advice about reaching it would mislead. */
const timeNotFound = (partitions: readonly TopicPartition[]): string =>
  `The leader of ${partitions.map(partitionName).join(', ')} failed to find a record by its time (UNKNOWN). To find it, a broker decompresses records, and may lack the memory: look at the log of the broker, and give it more heap (KAFKA_HEAP_OPTS). It is tried again.`;

const endOf = (end: bigint, to: ReadRequest['to']): bigint =>
  typeof to === 'object' && to.before < end ? to.before : end;

const clamp = (offset: bigint, low: bigint, high: bigint): bigint => {
  if (offset < low) return low;
  return offset > high ? high : offset;
};
