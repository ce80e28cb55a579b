import type { TopicName } from '../../../schemas/events/topics.ts';
import { FleetGcError } from '../../process/errors.ts';
import { partitionName } from '../partition.ts';
import type { Subscription } from '../port.ts';
import { deathsIn } from '../subscription.ts';
import type { Cluster, FetchAnswer } from './client/cluster.ts';
import { protocolType } from './client/errors.ts';
import { tolerantWithin } from './protocol/compression.ts';

export interface TopicPartition {
  readonly topic: TopicName;
  readonly partition: number;
}

type Where = { readonly fromBeginning: boolean } | { readonly fromTimestamp: number };

/** As kafkajs's requests want them. */
const byTopic = (partitions: readonly TopicPartition[]) =>
  [...Map.groupBy(partitions, ({ topic }) => topic)].map(([topic, group]) => ({
    topic,
    partitions: group.map(({ partition }) => ({ partition })),
  }));

/** For people, who look for it there. */
export const nameOnBrokers = (
  cluster: Pick<Cluster, 'nameOf'>,
  { topic, partition }: TopicPartition,
): string => partitionName({ topic: cluster.nameOf(topic), partition });

/** A partition without a leader answers nothing; guessing an offset would skip records or repeat them all. */
export function requireOffset(
  cluster: Pick<Cluster, 'nameOf'>,
  offsets: ReadonlyMap<string, bigint>,
  at: TopicPartition,
): bigint {
  const offset = offsets.get(partitionName(at));
  if (offset !== undefined) return offset;
  throw new FleetGcError(
    'LOG_UNREACHABLE',
    `Kafka tells no offsets of ${nameOnBrokers(cluster, at)}: the partition has no leader at the moment. It is tried again.`,
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
async function lastTimestampMs(
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

/** Where a partition is to be read from. `isNew`: the group had no place there yet. */
export interface StartOffset extends TopicPartition {
  readonly from: bigint;
  readonly isNew: boolean;
  /** Processes that ended while they had the record there in hand. */
  readonly deaths: number;
}

type Place = Pick<StartOffset, 'from' | 'deaths'>;

/** What the group committed; partitions without a commit are left out. */
async function committedPlaces(
  cluster: Cluster,
  groupId: string,
  partitions: readonly TopicPartition[],
): Promise<ReadonlyMap<string, Place>> {
  const coordinator = await cluster.findGroupCoordinator({ groupId });
  const topics = byTopic(partitions).map(({ topic, partitions: wanted }) => ({
    topic,
    partitions: wanted.map(({ partition }) => ({ partition, offset: '-1' })),
  }));
  const { responses } = await coordinator.offsetFetch({ groupId, topics });
  const places = responses.flatMap(({ topic, partitions: answers }) =>
    answers.map(
      ({ partition, offset, metadata }) =>
        [partitionName({ topic, partition }), { from: BigInt(offset), deaths: deathsIn(metadata) }] as const,
    ),
  );
  return new Map(places.filter(([, { from }]) => from >= 0n));
}

/** Where a member begins with the partitions that its group gave it. */
export async function committedStarts(
  cluster: Cluster,
  { group, start }: Subscription,
  partitions: readonly TopicPartition[],
): Promise<StartOffset[]> {
  const committed = await committedPlaces(cluster, group, partitions);
  const unknown = partitions.filter((at) => !committed.has(partitionName(at)));
  const first = await listOffsets(cluster, unknown, { fromBeginning: start === 'earliest' });
  return partitions.map((at) => {
    const place = committed.get(partitionName(at));
    if (place !== undefined) return { ...at, ...place, isNew: false };
    return { ...at, from: requireOffset(cluster, first, at), isNew: true, deaths: 0 };
  });
}

/**
 * So long before the last record, by the broker's time: brokers tell nobody what time it is, and this client's own clock
 * may be wrong. That is at least as far back as "before now".
 */
async function lookBackOffset(
  cluster: Cluster,
  at: TopicPartition,
  lookBackMs: number,
): Promise<StartOffset> {
  const name = partitionName(at);
  const end = requireOffset(cluster, await listOffsets(cluster, [at], { fromBeginning: false }), at);
  const lastMs = await lastTimestampMs(cluster, at, end);
  if (lastMs === null) return { ...at, from: end, isNew: false, deaths: 0 };
  const fromTimestamp = Math.max(0, lastMs - lookBackMs);
  const found = await listOffsets(cluster, [at], { fromTimestamp }).catch((error: unknown) => {
    // To find a time a broker decompresses what lies there, and it may lack the memory: then all that is kept is read.
    if (protocolType(error) !== 'UNKNOWN') throw error;
    return listOffsets(cluster, [at], { fromBeginning: true });
  });
  return { ...at, from: found.get(name) ?? end, isNew: false, deaths: 0 };
}

/** Where the reader of a key begins. */
export const lookBackStarts = (
  cluster: Cluster,
  partitions: readonly TopicPartition[],
  lookBackMs: number,
): Promise<StartOffset[]> => Promise.all(partitions.map((at) => lookBackOffset(cluster, at, lookBackMs)));
