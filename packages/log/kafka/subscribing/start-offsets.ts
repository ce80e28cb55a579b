import { partitionName } from '../../partition.ts';
import { deathsIn } from '../../partition-deaths.ts';
import type { Subscription } from '../../port.ts';
import type { Cluster } from '../client/cluster.ts';
import { protocolType } from '../client/errors.ts';
import {
  byTopic,
  lastTimestampMs,
  listOffsets,
  requireOffset,
  type TopicPartition,
} from '../reading/offsets.ts';

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
    return { ...at, from: requireOffset(first, at), isNew: true, deaths: 0 };
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
  const end = requireOffset(await listOffsets(cluster, [at], { fromBeginning: false }), at);
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
