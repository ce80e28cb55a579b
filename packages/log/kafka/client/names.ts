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
export const ownName = (names: Prefixed, name: string): string => {
  const logical = logicalName(names, name);
  if (logical === null) throw new TypeError(`a broker answered with ${name}, which was not asked for`);
  return logical;
};

type WithTopic = { readonly topic: string };

export const toPhysical = <T extends WithTopic>(names: Prefixed, asked: readonly T[]): T[] =>
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
