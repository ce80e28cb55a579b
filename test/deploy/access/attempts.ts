import kafkajs, { type Admin, type Kafka, type Producer } from 'kafkajs';
import { z } from 'zod';
import { openClient } from '../../../packages/log/kafka/client/client.ts';
import type { KafkajsCluster } from '../../../packages/log/kafka/client/cluster.ts';
import { protocolType } from '../../../packages/log/kafka/client/errors.ts';
import type { KafkaOptions } from '../../../packages/log/kafka/client/options.ts';
import { silentContext } from '../../packages/log/probe.ts';
import { clusterOf } from '../../support/kafka/cluster-of.ts';

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ConfigResourceTypes, ResourcePatternTypes } =
  kafkajs;

/** All that Kafka knows of on a topic and on a group, and what of the cluster concerns a client. */
export const TOPIC_OPERATIONS = [
  'Read',
  'Write',
  'Create',
  'Delete',
  'Alter',
  'Describe',
  'DescribeConfigs',
  'AlterConfigs',
] as const;
export const GROUP_OPERATIONS = ['Read', 'Describe', 'Delete'] as const;
export const CLUSTER_OPERATIONS = ['Create', 'Describe', 'Alter', 'DescribeConfigs', 'AlterConfigs'] as const;

type TopicOperation = (typeof TOPIC_OPERATIONS)[number];
type GroupOperation = (typeof GROUP_OPERATIONS)[number];
type ClusterOperation = (typeof CLUSTER_OPERATIONS)[number];

const ONE_TRY = { retry: { retries: 0 } };

/** One login that tries what it may and may not do. The broker is asked itself: nothing of ours stands between. */
export class Intruder implements AsyncDisposable {
  readonly #options: KafkaOptions;
  readonly #kafka: Kafka;
  readonly #admin: Admin;
  readonly #producer: Producer;

  constructor(options: KafkaOptions) {
    this.#options = options;
    this.#kafka = openClient(options, silentContext()).kafka;
    this.#admin = this.#kafka.admin(ONE_TRY);
    this.#producer = this.#kafka.producer({ ...ONE_TRY, allowAutoTopicCreation: false });
  }

  async connect(): Promise<void> {
    await this.#admin.connect();
    await this.#producer.connect();
  }

  /** Whether the broker lets it; another failure than a refusal is thrown, unless it shows that the rights were there. */
  topic(operation: TopicOperation, topic: string): Promise<boolean> {
    const admin = this.#admin;
    const resource = { type: ConfigResourceTypes.TOPIC, name: topic };
    const attempts: Readonly<Record<TopicOperation, () => Promise<unknown>>> = {
      Read: () => this.#fetch(topic),
      Write: () => this.#producer.send({ topic, messages: [{ key: 'nobody', value: 'not an event' }] }),
      Create: () =>
        admin.createTopics({
          validateOnly: true,
          waitForLeaders: false,
          topics: [{ topic, numPartitions: 1, replicationFactor: 1 }],
        }),
      Delete: () => admin.deleteTopics({ topics: [topic] }),
      Alter: () => admin.createPartitions({ validateOnly: true, topicPartitions: [{ topic, count: 99 }] }),
      Describe: () => admin.fetchTopicMetadata({ topics: [topic] }),
      DescribeConfigs: () => admin.describeConfigs({ includeSynonyms: false, resources: [resource] }),
      AlterConfigs: () =>
        admin.alterConfigs({
          validateOnly: true,
          resources: [{ ...resource, configEntries: [{ name: 'retention.ms', value: '1000' }] }],
        }),
    };
    return isAllowed(attempts[operation]);
  }

  group(operation: GroupOperation, group: string): Promise<boolean> {
    const attempts: Readonly<Record<GroupOperation, () => Promise<unknown>>> = {
      // As a member may do, by nobody who is one.
      Read: () => this.#ask('leaveGroup', { groupId: group, memberId: 'nobody' }),
      Describe: () => this.#ask('describeGroups', { groupIds: [group] }),
      Delete: async () => throwWhatItSays(await this.#ask('deleteGroups', [group])),
    };
    return isAllowed(attempts[operation]);
  }

  cluster(operation: ClusterOperation): Promise<boolean> {
    const admin = this.#admin;
    const broker = { type: ConfigResourceTypes.BROKER, name: ONLY_BROKER };
    const rule = { operation: AclOperationTypes.ALL, permissionType: AclPermissionTypes.ALLOW };
    const everything = {
      resourceType: AclResourceTypes.CLUSTER,
      resourceName: 'kafka-cluster',
      resourcePatternType: ResourcePatternTypes.LITERAL,
    };
    const attempts: Readonly<Record<ClusterOperation, () => Promise<unknown>>> = {
      Create: () => admin.createTopics({ waitForLeaders: false, topics: [{ topic: 'gc.node.more' }] }),
      Describe: () => admin.describeAcls({ ...everything, ...rule }),
      Alter: () => admin.createAcls({ acl: [{ ...everything, ...rule, principal: 'User:any', host: '*' }] }),
      DescribeConfigs: () => admin.describeConfigs({ includeSynonyms: false, resources: [broker] }),
      AlterConfigs: () =>
        admin.alterConfigs({
          validateOnly: true,
          resources: [{ ...broker, configEntries: [{ name: 'log.retention.ms', value: '1000' }] }],
        }),
    };
    return isAllowed(attempts[operation]);
  }

  /** Kafka lets whoever may write to any topic number its records. */
  idempotentWrites(): Promise<boolean> {
    return isAllowed(() => this.#ask('initProducerId', { transactionTimeout: 1000 }));
  }

  transaction(): Promise<boolean> {
    const request = { transactionalId: 'fleetgc', transactionTimeout: 1000 };
    return isAllowed(() => this.#ask('initProducerId', request));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#admin.disconnect(), this.#producer.disconnect()]);
  }

  /** Without a group, from the first offset there ever was. */
  async #fetch(topic: string): Promise<void> {
    await this.#withCluster(async (cluster) => {
      await cluster.addTargetTopic(topic);
      const [partition] = cluster.findTopicPartitionMetadata(topic);
      if (partition === undefined) throw new Error(`${topic} has no partition`);
      const leader = await cluster.findBroker({ nodeId: String(partition.leader) });
      const partitions = [{ partition: partition.partitionId, fetchOffset: '0', maxBytes: 1 }];
      await leader.fetch({ maxWaitTime: 0, minBytes: 0, topics: [{ topic, partitions }] });
    });
  }

  /** Of the only broker, without looking for the one in charge first: kafkajs keeps a refusal there to itself. */
  #ask(
    request: 'leaveGroup' | 'describeGroups' | 'deleteGroups' | 'initProducerId',
    content: unknown,
  ): Promise<unknown> {
    return this.#withCluster(async (cluster): Promise<unknown> => {
      const broker = await cluster.findBroker({ nodeId: ONLY_BROKER });
      const method: unknown = Reflect.get(broker, request);
      if (typeof method !== 'function') throw new Error(`kafkajs has no ${request}`);
      return await method.call(broker, content);
    });
  }

  async #withCluster<T>(work: (cluster: KafkajsCluster) => Promise<T>): Promise<T> {
    const client = openClient(this.#options, silentContext());
    const cluster = clusterOf(client.kafka);
    try {
      await cluster.connect();
      await cluster.refreshMetadata();
      return await work(cluster);
    } finally {
      client.cutConnections();
    }
  }
}

const ONLY_BROKER = '1';
const REFUSALS = [
  'TOPIC_AUTHORIZATION_FAILED',
  'GROUP_AUTHORIZATION_FAILED',
  'CLUSTER_AUTHORIZATION_FAILED',
  'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
];
/** What a broker says that has looked at the request itself, after the rights. */
const LOOKED_AT = [
  'OFFSET_OUT_OF_RANGE',
  'TOPIC_ALREADY_EXISTS',
  'UNKNOWN_MEMBER_ID',
  // Of numbers for writes, while they come from the controller.
  'GROUP_LOAD_IN_PROGRESS',
];

async function isAllowed(attempt: () => Promise<unknown>): Promise<boolean> {
  try {
    await attempt();
    return true;
  } catch (error) {
    const type = protocolType(error) ?? '';
    if (REFUSALS.includes(type)) return false;
    if (LOOKED_AT.includes(type)) return true;
    throw error;
  }
}

/** kafkajs keeps apart what it was told of each group. */
const DeletedGroups = z.object({ results: z.array(z.object({ error: z.instanceof(Error).optional() })) });

function throwWhatItSays(answer: unknown): void {
  const failed = DeletedGroups.parse(answer).results.find(({ error }) => error !== undefined);
  if (failed?.error) throw failed.error;
}
