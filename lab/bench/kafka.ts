import type { Admin } from 'kafkajs';
import { openClient } from '../../packages/log/kafka/client/client.ts';
import { KafkaOptions } from '../../packages/log/kafka/client/options.ts';
import { openKafkaLog } from '../../packages/log/kafka.ts';
import type { EventLog } from '../../packages/log/port.ts';
import { NODE_PARTITIONS, TOPICS, type TopicName } from '../../schemas/events/topics.ts';
import { type Broker, type BrokerOptions, startBroker } from '../../test/support/kafka/kafka.ts';
import { createNetwork, type TestNetwork } from '../../test/support/network.ts';
import { waitUntil } from '../../test/support/wait-until.ts';
import { logContext } from './context.ts';

const CREATED_MS = 30_000;

/** A log on brokers with FleetGC's topics. */
interface BenchLog {
  readonly options: KafkaOptions;
  readonly log: EventLog;
  readonly admin: Admin;
}

/** A broker with FleetGC's topics, for all benchmarks of a run. */
export interface BenchKafka extends BenchLog, AsyncDisposable {
  readonly broker: Broker;
  readonly network: TestNetwork;
}

export async function startKafka(over: Omit<BrokerOptions, 'network'> = {}): Promise<BenchKafka> {
  await using stack = new AsyncDisposableStack();
  const network = stack.use(await createNetwork());
  const broker = stack.use(await startBroker({ network, ...over }));
  const opened = await openTopics([broker.address], 1, stack);
  const owned = stack.move();
  return { ...opened, broker, network, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function openTopics(
  brokers: readonly string[],
  replicationFactor: number,
  stack: AsyncDisposableStack,
): Promise<BenchLog> {
  const options = KafkaOptions.parse({ kind: 'kafka', brokers, clientId: 'bench', replicationFactor });
  const log = stack.use(await openKafkaLog(options, logContext));
  await log.createTopics();
  const client = openClient(options, logContext);
  const admin = client.kafka.admin();
  await admin.connect();
  stack.defer(() => admin.disconnect());
  // The first group of a new broker waits for its coordinator longer than a client does.
  await waitUntil('the coordinator of groups', CREATED_MS, async () => {
    const offsets = await admin.fetchOffsets({ groupId: 'bench', topics: [TOPICS.policies.name] });
    return offsets.length > 0;
  });
  return { options, log, admin };
}

/** Topics of the baselines, like those of nodes. */
export async function createPlainTopics(
  { admin, options }: BenchLog,
  names: readonly string[],
): Promise<void> {
  const { replicationFactor } = options;
  const minInsync = Math.max(1, replicationFactor - 1);
  await admin.createTopics({
    // kafkajs fails when the broker does not know the new topic yet, so the waiting is ours.
    waitForLeaders: false,
    topics: names.map((topic) => ({
      topic,
      numPartitions: NODE_PARTITIONS,
      replicationFactor,
      configEntries: [
        { name: 'message.timestamp.type', value: 'LogAppendTime' },
        { name: 'min.insync.replicas', value: `${minInsync}` },
      ],
    })),
  });
  await waitUntil(`the topics ${names.join(', ')}`, CREATED_MS, async () => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [...names] });
    return topics.every(
      ({ partitions }) => partitions.filter(({ leader }) => leader >= 0).length === NODE_PARTITIONS,
    );
  });
}

/** How a verb reaches these brokers from this machine. */
export const kafkaArguments = ({ options }: Pick<BenchLog, 'options'>): readonly string[] => [
  '--kafka-brokers',
  options.brokers.join(','),
  '--kafka-replication-factor',
  `${options.replicationFactor}`,
];

/** How many records a topic ever got. */
export async function recordsOf({ admin }: Pick<BenchKafka, 'admin'>, topic: TopicName): Promise<number> {
  const partitions = await admin.fetchTopicOffsets(topic);
  return partitions.reduce((sum, { high }) => sum + Number(high), 0);
}

/** Publishes what kafkajs can read as it comes: it knows no zstd. */
export const openGzipLog = ({ options }: Pick<BenchKafka, 'options'>): Promise<EventLog> =>
  openKafkaLog({ ...options, compression: 'gzip' }, logContext);

/** A group that has no members is to begin with what comes from now on. */
export async function skipToEnd({ admin }: Pick<BenchKafka, 'admin'>, group: string, topic: TopicName) {
  const ends = await admin.fetchTopicOffsets(topic);
  const partitions = ends.map(({ partition, high }) => ({ partition, offset: high }));
  await admin.setOffsets({ groupId: group, topic, partitions });
}
