import type { Admin } from 'kafkajs';
import { NODE_PARTITIONS, TOPICS, type TopicName } from '../../schemas/topics.ts';
import { openClient } from '../../services/shared/event-log/kafka/client.ts';
import { KafkaOptions } from '../../services/shared/event-log/kafka/options.ts';
import { openKafkaLog } from '../../services/shared/event-log/kafka.ts';
import type { EventLog } from '../../services/shared/event-log/port.ts';
import { type Broker, startBroker } from '../support/kafka.ts';
import { createNetwork, type TestNetwork } from '../support/network.ts';
import { waitUntil } from '../support/wait-until.ts';
import { logContext } from './context.ts';

const CREATED_MS = 30_000;

/** A broker with FleetGC's topics, for all benchmarks of a run. */
export interface BenchKafka extends AsyncDisposable {
  readonly broker: Broker;
  readonly network: TestNetwork;
  readonly options: KafkaOptions;
  readonly log: EventLog;
  readonly admin: Admin;
}

export async function startKafka(): Promise<BenchKafka> {
  await using stack = new AsyncDisposableStack();
  const network = stack.use(await createNetwork());
  const broker = stack.use(await startBroker({ network }));
  const options = KafkaOptions.parse({
    kind: 'kafka',
    brokers: [broker.address],
    clientId: 'bench',
    replicationFactor: 1,
  });
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
  const owned = stack.move();
  return { broker, network, options, log, admin, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Topics of the baselines, like those of nodes. */
export async function createPlainTopics(admin: Admin, names: readonly string[]): Promise<void> {
  await admin.createTopics({
    // kafkajs fails when the broker does not know the new topic yet, so the waiting is ours.
    waitForLeaders: false,
    topics: names.map((topic) => ({
      topic,
      numPartitions: NODE_PARTITIONS,
      replicationFactor: 1,
      configEntries: [{ name: 'message.timestamp.type', value: 'LogAppendTime' }],
    })),
  });
  await waitUntil(`the topics ${names.join(', ')}`, CREATED_MS, async () => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [...names] });
    return topics.every(
      ({ partitions }) => partitions.filter(({ leader }) => leader >= 0).length === NODE_PARTITIONS,
    );
  });
}

/** How a verb reaches this broker from this machine. */
export const kafkaArguments = ({ broker }: BenchKafka): readonly string[] => [
  '--kafka-brokers',
  broker.address,
  '--kafka-replication-factor',
  '1',
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
