import { setTimeout as sleep } from 'node:timers/promises';
import kafkajs, { type Admin } from 'kafkajs';
import type { TopicName } from '../../../../schemas/events/topics.ts';
import { FleetGcError } from '../../../process/errors.ts';
import { TOPIC_NAMES, topicSpec } from '../../partition.ts';
import type { EventLogContext, TopicDifference } from '../../port.ts';
import { waitAtMost } from '../../stopping.ts';
import { missingTopic, partitionDifference } from '../../topic-differences.ts';
import { openClient } from '../client/client.ts';
import { watchContact } from '../client/contact.ts';
import { protocolType, unanswered } from '../client/errors.ts';
import type { KafkaOptions } from '../client/options.ts';
import { timeLimits } from '../client/time-limits.ts';
import { topicConfig } from './topic-config.ts';

const CREATE_TIMEOUT_MS = 15_000;
const LOOK_AGAIN_MS = 100;
const END_MS = 1000;
const NEVER = new AbortController().signal;

/** Settles as what it is given, or rejects when brokers are silent for too long. */
type InTime = <T>(asked: Promise<T>) => Promise<T>;

export type AdminWork<T> = (admin: Admin, inTime: InTime) => Promise<T>;

/** Runs `work` with an administrator's connection of its own. Throws `LOG_UNREACHABLE` when no broker is reached in time. */
export async function withAdmin<T>(
  options: KafkaOptions,
  context: EventLogContext,
  work: AdminWork<T>,
): Promise<T> {
  const { silenceMs } = timeLimits(options);
  using contact = watchContact(silenceMs, () => unanswered(options.brokers, silenceMs));
  const inTime: InTime = (asked) => contact.waitFor(asked, NEVER);
  // Creating many topics may take a broker longer than somebody waits for an answer.
  const client = openClient({ ...options, waits: 'long' }, context);
  const admin = client.kafka.admin();
  try {
    await inTime(admin.connect());
    contact.heard();
    return await work(admin, inTime);
  } finally {
    await waitAtMost(admin.disconnect(), END_MS);
    client.cutConnections();
  }
}

/** The number of partitions of each of our topics that exists. */
export async function partitionCounts(
  admin: Pick<Admin, 'listTopics' | 'fetchTopicMetadata'>,
): Promise<ReadonlyMap<string, number>> {
  const ours: readonly string[] = TOPIC_NAMES;
  const existing = (await admin.listTopics()).filter((name) => ours.includes(name));
  if (existing.length === 0) return new Map();
  const { topics } = await admin.fetchTopicMetadata({ topics: existing });
  return new Map(topics.map(({ name, partitions }) => [name, partitions.length]));
}

/** What creating asks of kafkajs. */
export type TopicAdmin = Pick<
  Admin,
  'listTopics' | 'fetchTopicMetadata' | 'createTopics' | 'describeCluster'
>;

/** Creates what is missing, and waits until it can be used; what exists is left as it is. */
export async function createMissing(admin: TopicAdmin, options: KafkaOptions): Promise<readonly TopicName[]> {
  const existing = await partitionCounts(admin);
  const missing = TOPIC_NAMES.filter((name) => !existing.has(name));
  if (missing.length === 0) return [];
  await admin
    .createTopics({
      // kafkajs would take a broker that has not heard of a new topic yet for one that will never have it.
      waitForLeaders: false,
      timeout: CREATE_TIMEOUT_MS,
      topics: missing.map((topic) => ({
        topic,
        numPartitions: topicSpec(topic).partitions,
        replicationFactor: options.replicationFactor,
        configEntries: Object.entries(topicConfig(topic, options)).map(([name, value]) => ({ name, value })),
      })),
    })
    .catch((error) => withCounts(error, admin, options));
  await untilUsable(admin, missing);
  return missing;
}

/** Kafka says that the number is wrong; which numbers those are helps more. */
async function withCounts(
  error: unknown,
  admin: Pick<Admin, 'describeCluster'>,
  { replicationFactor }: KafkaOptions,
): Promise<never> {
  if (protocolType(error) !== 'INVALID_REPLICATION_FACTOR') throw error;
  const { brokers } = await admin.describeCluster();
  const there = brokers.length === 1 ? '1 broker' : `${brokers.length} brokers`;
  throw new FleetGcError(
    'TOPICS_MISSING',
    `Kafka has ${there}, and ${replicationFactor} copies of each record were asked for. With so few brokers for good, say --kafka-replication-factor ${brokers.length}, here and to "fleetgc topics check"; else wait until all brokers have started.`,
    { cause: error },
  );
}

async function untilUsable(admin: TopicAdmin, topics: readonly TopicName[]): Promise<void> {
  const late = AbortSignal.timeout(CREATE_TIMEOUT_MS);
  while (!late.aborted) {
    if (await haveLeaders(admin, topics)) return;
    await sleep(LOOK_AGAIN_MS);
  }
  throw new FleetGcError(
    'LOG_UNREACHABLE',
    `The topics were created, but have no leaders after ${CREATE_TIMEOUT_MS / 1000} s. Check that all brokers run and reach each other.`,
  );
}

/** A topic that was just created may be unknown to the broker that is asked, or without leaders. */
async function haveLeaders(admin: TopicAdmin, names: readonly TopicName[]): Promise<boolean> {
  try {
    const { topics } = await admin.fetchTopicMetadata({ topics: [...names] });
    return topics.every(({ partitions }) => partitions.every(({ leader }) => leader >= 0));
  } catch (error) {
    const type = protocolType(error);
    if (type === 'UNKNOWN_TOPIC_OR_PARTITION' || type === 'LEADER_NOT_AVAILABLE') return false;
    throw error;
  }
}

async function foundConfigs(admin: Admin, topics: readonly TopicName[]) {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: topics.map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name })),
  });
  return new Map(
    resources.map(({ resourceName, configEntries }) => [
      resourceName,
      new Map(configEntries.map(({ configName, configValue }) => [configName, configValue])),
    ]),
  );
}

const remedyOf = (config: string): string =>
  config === 'min.insync.replicas'
    ? "Where fewer copies were asked for when topics were created, give the same --kafka-replication-factor here; else change it with the broker's tools."
    : "Change it with the broker's tools if it was not meant so.";

function configDifferences(
  topic: TopicName,
  found: ReadonlyMap<string, string>,
  options: KafkaOptions,
): TopicDifference[] {
  return Object.entries(topicConfig(topic, options))
    .filter(([name, value]) => found.get(name) !== value)
    .map(([name, value]) => ({
      topic,
      kind: 'config',
      expected: `${name}=${value}`,
      found: `${name}=${found.get(name) ?? ''}`,
      message: `Topic ${topic} has ${name}=${found.get(name) ?? ''}, but ${value} is expected. ${remedyOf(name)}`,
    }));
}

/** What differs from the table of topics. */
export async function findDifferences(admin: Admin, options: KafkaOptions): Promise<TopicDifference[]> {
  const counts = await partitionCounts(admin);
  const existing = TOPIC_NAMES.filter((name) => counts.has(name));
  const configs = existing.length === 0 ? new Map() : await foundConfigs(admin, existing);
  return TOPIC_NAMES.flatMap((topic) => {
    const count = counts.get(topic);
    if (count === undefined) return [missingTopic(topic)];
    const difference = partitionDifference(topic, count);
    const config = configDifferences(topic, configs.get(topic) ?? new Map(), options);
    return difference === null ? config : [difference, ...config];
  });
}
