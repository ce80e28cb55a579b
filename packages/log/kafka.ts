import { type Admin, type AdminWork, withAdmin } from './kafka/client/admin.ts';
import { Consumer, type FormerMember } from './kafka/client/consumer.ts';
import { createConnection, type KafkaConnection, renewConnections } from './kafka/client/kafka-connection.ts';
import { type KafkaOptions, secretsOf } from './kafka/client/options.ts';
import { runGroupSession } from './kafka/group-session.ts';
import { runKeySession } from './kafka/key-session.ts';
import { Publishing } from './kafka/publish.ts';
import { readRecords } from './kafka/read.ts';
import { createMissing, findDifferences } from './kafka/topics.ts';
import { partitionName, TOPIC_NAMES } from './partition.ts';
import type {
  ActiveSubscription,
  EventLog,
  EventLogContext,
  GroupProgress,
  SliceHandler,
  Subscription,
  WaitingRecord,
} from './port.ts';
import { waitAtMost } from './stopping.ts';
import { supervise } from './subscription.ts';

/** For looking after certificates and passwords to end, when the log is closed. */
const LAST_LOOK_MS = 3000;

/**
 * The event log of a fleet, on Kafka. Opening waits for nothing: what needs the brokers tries again with backoff, and
 * `health` says whether they are reached. Throws `CONFIG_INVALID` when a file with a secret cannot be read.
 */
export async function openKafkaLog(options: KafkaOptions, context: EventLogContext): Promise<EventLog> {
  secretsOf(options);
  const connection = createConnection(options, context);
  const closing = new AbortController();
  const publishing = new Publishing(connection.forClient('producer'), closing.signal);
  const members = new Set<ActiveSubscription>();
  const renewing =
    options.waits === 'long' ? renewConnections({ connection }, closing.signal) : Promise.resolve();
  /** What kafkajs reports is told in our words. */
  const ask = async <T>(work: AdminWork<T>): Promise<T> => {
    using administrator = connection.forClient('administrator');
    try {
      const answer = await withAdmin(options, context, work);
      administrator.reached();
      return answer;
    } catch (error) {
      throw administrator.explain(error);
    }
  };

  return {
    publish: (records) => publishing.publish(records),
    subscribe: async (subscription, handle) => {
      const member = startGroupMember(connection, subscription, handle);
      members.add(member);
      return member;
    },
    read: (request, signal) =>
      readRecords(connection, request, [closing.signal, ...(signal ? [signal] : [])]),
    createTopics: () => ask((admin) => createMissing(admin, options)),
    checkTopics: () => ask((admin, inTime) => inTime(findDifferences(admin, options))),
    servers: () => ask((admin, inTime) => inTime(brokerAddresses(admin))),
    groups: (names) => ask((admin, inTime) => inTime(groupProgress(admin, names))),
    health: (follows) => connection.health(follows),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([...members].map((member) => member.stop()));
      await publishing.flush();
      closing.abort();
      await Promise.all([publishing.disconnect(), waitAtMost(renewing, LAST_LOOK_MS)]);
    },
  };
}

/** Serves its share of the group, or the partition of its key, in the background until it is stopped; a session that fails is followed by another. */
function startGroupMember(
  connection: KafkaConnection,
  subscription: Subscription,
  handle: SliceHandler,
): ActiveSubscription {
  const { options, context, clients } = connection;
  const { assignment } = subscription;
  const own = connection.forClient(`reader ${subscription.group}`);
  const stragglers = new Map<string, Promise<void>>();
  const former: FormerMember = { memberId: null };
  return supervise(context, {
    group: subscription.group,
    serve: (state, stopping) => {
      const consumer = new Consumer(options, context, subscription);
      const session = {
        consumer,
        subscription,
        handle,
        connection: own,
        state,
        stopping,
        former,
        stragglers,
      };
      clients.add(consumer);
      const running =
        assignment.kind === 'key' ? runKeySession(session, assignment) : runGroupSession(session);
      return running.finally(() => clients.delete(consumer));
    },
    leave: async () => own[Symbol.dispose](),
  });
}

/** What is asked of kafkajs. */
type GroupAdmin = Pick<
  Admin,
  'describeCluster' | 'describeGroups' | 'fetchOffsets' | 'fetchTopicOffsets' | 'hadGroups'
>;

/** Addresses of the brokers that are there. */
async function brokerAddresses(admin: Pick<GroupAdmin, 'describeCluster'>): Promise<readonly string[]> {
  const { brokers } = await admin.describeCluster();
  return brokers.map(({ host, port }) => `${host}:${port}`).toSorted();
}

async function groupProgress(admin: GroupAdmin, names: readonly string[]): Promise<readonly GroupProgress[]> {
  const hadGroups = await admin.hadGroups();
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
