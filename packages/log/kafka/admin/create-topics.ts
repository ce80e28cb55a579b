import { setTimeout as sleep } from 'node:timers/promises';
import type { TopicName } from '../../../../schemas/events/topics.ts';
import { FleetGcError } from '../../../process/errors.ts';
import { TOPIC_NAMES, topicSpec } from '../../partition.ts';
import type { Admin } from '../client/admin.ts';
import { protocolType, refusedParts } from '../client/errors.ts';
import type { KafkaOptions } from '../client/options.ts';
import { topicConfig } from './compare-topics.ts';
import { topicShapes } from './declared-partitions.ts';

const CREATE_TIMEOUT_MS = 15_000;
const LOOK_AGAIN_MS = 100;

/** What creating asks of it. */
export type TopicAdmin = Pick<
  Admin,
  'listTopics' | 'fetchTopicMetadata' | 'createTopics' | 'describeCluster'
>;

/** Creates what is missing, and waits until it can be used; what exists is left as it is. */
export async function createMissing(admin: TopicAdmin, options: KafkaOptions): Promise<readonly TopicName[]> {
  const existing = await topicShapes(admin);
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
    .catch((error) => withCounts(error, admin, options))
    .catch((error) => withSettings(error, options));
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

/** What a broker, or a policy of its operator, refuses about a topic itself. */
const REFUSED_TYPES: ReadonlySet<string> = new Set([
  'POLICY_VIOLATION',
  'INVALID_CONFIG',
  'INVALID_PARTITIONS',
  'INVALID_REQUEST',
  'INVALID_TOPIC_EXCEPTION',
  'INVALID_REPLICA_ASSIGNMENT',
]);

interface Refused {
  readonly topic: TopicName;
  readonly type: string;
  readonly said: string;
}

/** The topic, the setting and the broker's own words help more than the name of the error. */
function withSettings(error: unknown, options: KafkaOptions): never {
  const refused = refusedParts(error).flatMap(refusedTopic);
  const [first] = refused;
  if (first === undefined) throw error;
  const sentences = refused.map(
    ({ topic, type, said }) =>
      `  ${topic}: ${type}${said === '' ? '' : `, in the broker's words: ${said}`}. FleetGC asked for ${askedFor(topic, said, options)}.`,
  );
  throw new FleetGcError(
    'TOPICS_DIFFER',
    [
      `Kafka refused to create ${refused.length === 1 ? '1 topic' : `${refused.length} topics`}:`,
      ...sentences,
      `  Change a setting with --kafka-topic-config NAME=VALUE, or leave it to the broker with --kafka-topic-config NAME= (TOPIC:NAME=VALUE for one topic), here and to "fleetgc topics check"; or have the broker's policy changed. docs/operating/troubleshoot.md says what each setting is for.`,
    ],
    { cause: error },
  );
}

function refusedTopic(error: Error): readonly Refused[] {
  const type = protocolType(error) ?? '';
  const topic = TOPIC_NAMES.find((name) => 'topic' in error && error.topic === name);
  if (topic === undefined || !REFUSED_TYPES.has(type)) return [];
  const said = 'brokerMessage' in error && typeof error.brokerMessage === 'string' ? error.brokerMessage : '';
  return [{ topic, type, said: said.trim().replace(/\.$/, '') }];
}

/** The settings that the broker names; all of them where it names none. */
function askedFor(topic: TopicName, said: string, options: KafkaOptions): string {
  const settings = Object.entries(topicConfig(topic, options));
  const named = settings.filter(([name]) => said.includes(name));
  const told = (named.length > 0 ? named : settings).map(([name, value]) => `${name}=${value}`);
  return [...told, ...(named.length > 0 ? [] : [`${topicSpec(topic).partitions} partitions`])].join(', ');
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
