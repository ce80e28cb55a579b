import { partitionName, TOPIC_NAMES } from '../../partition.ts';
import type { GroupProgress, WaitingRecord } from '../../port.ts';
import type { Admin } from '../client/admin.ts';

/** What is asked of kafkajs. */
export type GroupAdmin = Pick<
  Admin,
  'describeCluster' | 'describeGroups' | 'fetchOffsets' | 'fetchTopicOffsets' | 'listTopics'
>;

/** Addresses of the brokers that are there. */
export async function brokerAddresses(
  admin: Pick<GroupAdmin, 'describeCluster'>,
): Promise<readonly string[]> {
  const { brokers } = await admin.describeCluster();
  return brokers.map(({ host, port }) => `${host}:${port}`).toSorted();
}

/** Where the brokers keep what groups committed; they make it when the first group comes. */
const OFFSETS_TOPIC = '__consumer_offsets';

export async function groupProgress(
  admin: GroupAdmin,
  names: readonly string[],
): Promise<readonly GroupProgress[]> {
  const hadGroups = (await admin.listTopics()).includes(OFFSETS_TOPIC);
  try {
    return await askForGroups(admin, names);
  } catch (error) {
    if (hadGroups || !isWithoutCoordinator(error)) throw error;
    return names.map((group) => ({ group, members: 0, lag: new Map(), waiting: [] }));
  }
}

const isWithoutCoordinator = (error: unknown): boolean =>
  error instanceof Error && error.name === 'KafkaJSGroupCoordinatorNotFound';

async function askForGroups(admin: GroupAdmin, names: readonly string[]): Promise<readonly GroupProgress[]> {
  const { groups } = await admin.describeGroups([...names]);
  const members = new Map(groups.map((group) => [group.groupId, group.members.length]));
  const progress: GroupProgress[] = [];
  for (const group of names) {
    const first = await firstLeft(admin, group);
    progress.push({
      group,
      members: members.get(group) ?? 0,
      lag: new Map(first.map((record) => [partitionName(record), record.left])),
      waiting: first.filter(({ left }) => left > 0),
    });
  }
  return progress;
}

type CommittedTopic = Awaited<ReturnType<Admin['fetchOffsets']>>[number];

async function firstLeft(admin: GroupAdmin, group: string): Promise<readonly WaitingRecord[]> {
  const committed = (await admin.fetchOffsets({ groupId: group })).filter(isBegun);
  const first: WaitingRecord[] = [];
  for (const topic of TOPIC_NAMES) {
    const found = committed.find((each) => each.topic === topic);
    if (found === undefined) continue;
    const next = new Map(found.partitions.map(({ partition, offset }) => [partition, BigInt(offset)]));
    for (const { partition, low, high } of await admin.fetchTopicOffsets(topic)) {
      const offset = latest(next.get(partition) ?? NONE, BigInt(low));
      first.push({ topic, partition, offset, left: Number(latest(BigInt(high) - offset, 0n)) });
    }
  }
  return first;
}

/** What Kafka says where nothing was committed. */
const NONE = -1n;

const isBegun = ({ partitions }: CommittedTopic): boolean =>
  partitions.some(({ offset }) => BigInt(offset) !== NONE);

const latest = (a: bigint, b: bigint): bigint => (a > b ? a : b);
