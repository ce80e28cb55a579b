import type { Admin, KafkajsAdmin } from './admin.ts';
import type { Broker, Cluster, Coordinator, KafkajsCluster } from './cluster.ts';

/**
 * What topics and groups are called on the brokers: the prefix, then the name by which the rest of FleetGC knows them. What
 * leaves this folder, and what signatures, hashes and archives hold, has no prefix.
 */
export interface Prefixed {
  /** Empty: none. */
  readonly prefix: string;
}

export const physicalName = ({ prefix }: Prefixed, name: string): string => `${prefix}${name}`;

/** `null` for a name of another fleet, or of none. */
export const logicalName = ({ prefix }: Prefixed, name: string): string | null =>
  name.startsWith(prefix) ? name.slice(prefix.length) : null;

/** Of what only names of this fleet were asked for. */
const ownName = (names: Prefixed, name: string): string => {
  const logical = logicalName(names, name);
  if (logical === null) throw new TypeError(`a broker answered with ${name}, which was not asked for`);
  return logical;
};

type WithTopic = { readonly topic: string };

const toPhysical = <T extends WithTopic>(names: Prefixed, asked: readonly T[]): T[] =>
  asked.map((one) => ({ ...one, topic: physicalName(names, one.topic) }));

const toLogical = <T extends WithTopic>(names: Prefixed, answered: readonly T[]): T[] =>
  answered.map((one) => ({ ...one, topic: ownName(names, one.topic) }));

/** The connections of kafkajs, by the names without the prefix. */
export const namedCluster = (cluster: KafkajsCluster, names: Prefixed): Cluster => ({
  nameOf: (topic) => physicalName(names, topic),
  connect: () => cluster.connect(),
  isConnected: () => cluster.isConnected(),
  addTargetTopic: (topic) => cluster.addTargetTopic(physicalName(names, topic)),
  refreshMetadata: () => cluster.refreshMetadata(),
  removeBroker: (address) => cluster.removeBroker(address),
  findTopicPartitionMetadata: (topic) => cluster.findTopicPartitionMetadata(physicalName(names, topic)),
  findLeaderForPartitions: (topic, partitions) =>
    cluster.findLeaderForPartitions(physicalName(names, topic), partitions),
  getNodeIds: () => cluster.getNodeIds(),
  findBroker: async (node) => namedBroker(await cluster.findBroker(node), names),
  findGroupCoordinator: async ({ groupId }) =>
    namedCoordinator(await cluster.findGroupCoordinator({ groupId: physicalName(names, groupId) }), names),
  fetchTopicsOffset: async (topics) =>
    toLogical(names, await cluster.fetchTopicsOffset(toPhysical(names, topics))),
});

/** Requests of our own name topics themselves. */
const namedBroker = (broker: Broker, names: Prefixed): Broker => ({
  fetch: async (request) => {
    const { responses } = await broker
      .fetch({ ...request, topics: toPhysical(names, request.topics) })
      .catch((error) => {
        throw withLogicalTopic(names, error);
      });
    return { responses: responses.map((one) => ({ ...one, topicName: ownName(names, one.topicName) })) };
  },
  ...(broker.connectionPool !== undefined && { connectionPool: broker.connectionPool }),
});

/** kafkajs notes at an error which topic it is about. */
function withLogicalTopic(names: Prefixed, error: unknown): unknown {
  if (!(error instanceof Error) || !('topic' in error) || typeof error.topic !== 'string') return error;
  return Object.assign(error, { topic: ownName(names, error.topic) });
}

const namedCoordinator = (coordinator: Coordinator, names: Prefixed): Coordinator => ({
  offsetFetch: async ({ groupId, topics }) => {
    const { responses } = await coordinator.offsetFetch({
      groupId: physicalName(names, groupId),
      topics: toPhysical(names, topics),
    });
    return { responses: toLogical(names, responses) };
  },
  leaveGroup: async ({ groupId, memberId }) =>
    await coordinator.leaveGroup?.({ groupId: physicalName(names, groupId), memberId }),
});

/** Where the brokers keep what groups committed; they make it when the first group comes. */
const OFFSETS_TOPIC = '__consumer_offsets';

/** The administrator of kafkajs, by the names without the prefix. Topics of others are not listed; access rules name what they are given. */
export const namedAdmin = (admin: KafkajsAdmin, names: Prefixed): Admin => ({
  hadGroups: async () => (await admin.listTopics()).includes(OFFSETS_TOPIC),
  describeCluster: () => admin.describeCluster(),
  listTopics: async () => (await admin.listTopics()).flatMap((name) => logicalName(names, name) ?? []),
  fetchTopicMetadata: async ({ topics }) => {
    const found = await admin.fetchTopicMetadata({ topics: topics.map((name) => physicalName(names, name)) });
    return { topics: found.topics.map((one) => ({ ...one, name: ownName(names, one.name) })) };
  },
  createTopics: (request) => admin.createTopics({ ...request, topics: toPhysical(names, request.topics) }),
  describeConfigs: async ({ resources, ...request }) => {
    const found = await admin.describeConfigs({
      ...request,
      resources: resources.map((one) => ({ ...one, name: physicalName(names, one.name) })),
    });
    return {
      resources: found.resources.map((one) => ({ ...one, resourceName: ownName(names, one.resourceName) })),
    };
  },
  describeGroups: async (groupIds) => {
    const found = await admin.describeGroups(groupIds.map((name) => physicalName(names, name)));
    return { groups: found.groups.map((one) => ({ ...one, groupId: ownName(names, one.groupId) })) };
  },
  fetchOffsets: async ({ groupId }) =>
    (await admin.fetchOffsets({ groupId: physicalName(names, groupId) })).flatMap((one) => {
      const topic = logicalName(names, one.topic);
      return topic === null ? [] : [{ ...one, topic }];
    }),
  fetchTopicOffsets: (topic) => admin.fetchTopicOffsets(physicalName(names, topic)),
  describeAcls: (filter) => admin.describeAcls(filter),
  createAcls: (request) => admin.createAcls(request),
});
