import { setTimeout as sleep } from 'node:timers/promises';
import type { TopicName, TopicSpec } from '../../../schemas/events/topics.ts';
import type { pause } from '../../process/backoff.ts';
import { HOUR_MS } from '../../process/durations.ts';
import { FleetGcError } from '../../process/errors.ts';
import { counted } from '../../text/counted.ts';
import { MAX_RECORD_BYTES } from '../limits.ts';
import { TOPIC_NAMES, topicSpec } from '../partition.ts';
import type { TopicDifference } from '../port.ts';
import { missingTopic, partitionDifference, refusal } from '../topic-differences.ts';
import { type Admin, TOPIC_RESOURCE, withAdmin } from './client/admin.ts';
import type { Cluster } from './client/cluster.ts';
import { protocolType, refusedParts } from './client/errors.ts';
import type { KafkaConnection } from './client/kafka-connection.ts';
import { physicalName } from './client/names.ts';
import { decidesKeeping, type KafkaOptions, KafkaPrefix, type TopicSetting } from './client/options.ts';

const FOREVER = '-1';
/** Key, headers and the frame of a batch, beside the largest value. */
const FRAME_BYTES = 256 * 1024;

/** As records of a compacted topic are few, old values would stay for a week if the segment were not closed earlier. */
const COMPACTED = {
  'segment.ms': `${HOUR_MS}`,
  'max.compaction.lag.ms': `${HOUR_MS}`,
  'delete.retention.ms': `${24 * HOUR_MS}`,
} as const;

/**
 * A topic that is compacted and deletes has a record for each node every few minutes, and readers read all of it: closed segments alone
 * are compacted. Kafka takes no smaller ones.
 */
const OFTEN_REPLACED = { 'segment.bytes': `${1024 * 1024}` } as const;

const minInsync = ({ replicationFactor, minInsyncReplicas }: KafkaOptions): number =>
  minInsyncReplicas ?? Math.max(1, replicationFactor - 1);

/** What a topic is created with: FleetGC's settings, with those that the options change or leave out. */
export function topicConfig(topic: TopicName, options: KafkaOptions): Readonly<Record<string, string>> {
  const given = givenConfig(topic, options);
  const settings = Object.entries(ownConfig(topic, options)).map(
    ([name, value]) => [name, given.get(name) ?? value] as const,
  );
  return Object.fromEntries(settings.filter(([, value]) => value !== LEFT_OUT));
}

const LEFT_OUT = '';

/** What the options say of one topic; what they say of it by name comes before what they say of all. No value makes a topic that is kept for ever keep less. */
const givenConfig = (
  topic: TopicName,
  { topicConfig: given = [] }: KafkaOptions,
): ReadonlyMap<string, string> =>
  new Map(
    [
      ...given.filter((setting) => setting.topic === null && !keepsLess(topic, setting)),
      ...given.filter((setting) => setting.topic === topic),
    ].map(({ name, value }) => [name, value]),
  );

const keepsLess = (topic: TopicName, { name, value }: TopicSetting): boolean =>
  value !== LEFT_OUT && decidesKeeping(topic, name);

/** Without these FleetGC does not work, so they are compared also where they were left out at the creation. */
const NEEDED: ReadonlySet<string> = new Set(['cleanup.policy', 'message.timestamp.type', 'compression.type']);

/** What a topic is compared with. */
const comparedConfig = (topic: TopicName, options: KafkaOptions): Readonly<Record<string, string>> => ({
  ...topicConfig(topic, options),
  ...Object.fromEntries(
    Object.entries(ownConfig(topic, options)).filter(
      ([name]) => NEEDED.has(name) || decidesKeeping(topic, name),
    ),
  ),
});

const cleanupOf = ({ compacted, retentionMs }: Pick<TopicSpec, 'compacted' | 'retentionMs'>): string => {
  if (!compacted) return 'delete';
  return retentionMs === 'forever' ? 'compact' : 'compact,delete';
};

/** Sizes never delete: what is kept, and for how long, is one number in one table. */
function ownConfig(topic: TopicName, options: KafkaOptions): Readonly<Record<string, string>> {
  const { compacted, retentionMs } = topicSpec(topic);
  return {
    'cleanup.policy': cleanupOf({ compacted, retentionMs }),
    ...(compacted ? COMPACTED : {}),
    ...(compacted && retentionMs !== 'forever' ? OFTEN_REPLACED : {}),
    'retention.ms': retentionMs === 'forever' ? FOREVER : `${retentionMs}`,
    'retention.bytes': FOREVER,
    'message.timestamp.type': 'LogAppendTime',
    'compression.type': 'producer',
    'max.message.bytes': `${MAX_RECORD_BYTES + FRAME_BYTES}`,
    'min.insync.replicas': `${minInsync(options)}`,
  };
}

/** The value of each setting, by topic. */
type FoundConfigs = ReadonlyMap<string, ReadonlyMap<string, string>>;

async function foundConfigs(
  admin: Pick<Admin, 'describeConfigs'>,
  topics: readonly TopicName[],
): Promise<FoundConfigs> {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: topics.map((name) => ({ type: TOPIC_RESOURCE, name })),
  });
  return new Map(
    resources.map(({ resourceName, configEntries }) => [
      resourceName,
      new Map(configEntries.map(({ configName, configValue }) => [configName, configValue])),
    ]),
  );
}

const OF_COPIES =
  "Where fewer copies were asked for when topics were created, give the same --kafka-replication-factor here; else change it with the broker's tools.";

const OF_COMPRESSION =
  "The broker compresses anew what FleetGC writes, and FleetGC reads zstd and gzip alone. Set it to producer with the broker's tools.";

/** What is lost there cannot be read again from anywhere, so no option makes such a setting as expected. */
const ofKeeping = (name: string, value: string): string =>
  `The broker deletes what must be kept for ever: policies, their history, keys or the proof of what was recorded. Set ${name}=${value} with the broker's tools now; what is already deleted comes from an archive or from the files that it was written from.`;

function remedyOf(config: string): string {
  if (config === 'min.insync.replicas') return OF_COPIES;
  if (config === 'compression.type') return OF_COMPRESSION;
  return "Change it with the broker's tools if it was not meant so, or give the same --kafka-topic-config here as when topics were created.";
}

/** Copies that are away for now count: what is compared is what the topic was made with. */
function copiesDifferences(topic: TopicName, copies: number, options: KafkaOptions): TopicDifference[] {
  const { replicationFactor } = options;
  const name = physicalName(options, topic);
  if (copies === replicationFactor) return [];
  const expected = counted(replicationFactor, 'copy', 'copies');
  const found = counted(copies, 'copy', 'copies');
  const message = `Topic ${name} has ${found} of each record, but ${replicationFactor} ${replicationFactor === 1 ? 'is' : 'are'} expected. ${OF_COPIES}`;
  return [{ topic, name, kind: 'config', expected, found, message }];
}

/** One sentence for all topics: nothing about any of them is wrong. */
function onlyCopy(topic: TopicName, options: KafkaOptions): TopicDifference {
  const { replicationFactor } = options;
  return {
    topic,
    name: physicalName(options, topic),
    kind: 'only-copy',
    expected: counted(replicationFactor, 'copy', 'copies'),
    found: '1 copy',
    message: `Kafka has a single broker, so there is 1 copy of each record: enough to try FleetGC, and if its disk is lost, so are policies and the audit trail. Production needs ${replicationFactor} brokers; if this Kafka stays at 1, set --kafka-replication-factor 1.`,
  };
}

/** A broker cannot keep more than one copy; with more than one asked of it to acknowledge, it would take no record. */
const ofSingleBroker = (options: KafkaOptions): KafkaOptions => ({
  ...options,
  replicationFactor: 1,
  minInsyncReplicas: 1,
});

async function isSingleBroker(admin: Pick<Admin, 'describeCluster'>): Promise<boolean> {
  return (await admin.describeCluster()).brokers.length === 1;
}

function configDifferences(
  topic: TopicName,
  found: ReadonlyMap<string, string>,
  options: KafkaOptions,
): TopicDifference[] {
  return Object.entries(comparedConfig(topic, options))
    .filter(([name, value]) => found.get(name) !== value)
    .map(([name, value]) => {
      const keeping = decidesKeeping(topic, name);
      return {
        topic,
        name: physicalName(options, topic),
        kind: keeping ? 'keeps-less' : 'config',
        expected: `${name}=${value}`,
        found: `${name}=${found.get(name) ?? ''}`,
        message: `Topic ${physicalName(options, topic)} has ${name}=${found.get(name) ?? ''}, but ${value} is expected. ${keeping ? ofKeeping(name, value) : remedyOf(name)}`,
      };
    });
}

interface TopicPlace {
  readonly prefix: string;
  readonly otherPrefixes: readonly string[];
}

/** Where topics are missing and no prefix is given, with the prefixes that are there. */
async function placeOf(
  admin: Pick<Admin, 'listTopics'>,
  shapes: ReadonlyMap<string, TopicShape>,
  { prefix }: Pick<KafkaOptions, 'prefix'>,
): Promise<TopicPlace> {
  if (prefix !== '' || TOPIC_NAMES.every((name) => shapes.has(name))) return { prefix, otherPrefixes: [] };
  const found = (await admin.listTopics()).flatMap((name) => {
    const topic = TOPIC_NAMES.find((each) => name.endsWith(each));
    return topic === undefined ? [] : name.slice(0, -topic.length);
  });
  const others = [...new Set(found)].filter((each) => each !== '' && KafkaPrefix.safeParse(each).success);
  return { prefix, otherPrefixes: others.toSorted() };
}

/** What differs from the table of topics. */
export async function findDifferences(
  admin: Pick<Admin, 'listTopics' | 'fetchTopicMetadata' | 'describeConfigs' | 'describeCluster'>,
  options: KafkaOptions,
): Promise<TopicDifference[]> {
  const shapes = await topicShapes(admin);
  const existing = TOPIC_NAMES.filter((name) => shapes.has(name));
  const configs: FoundConfigs = existing.length === 0 ? new Map() : await foundConfigs(admin, existing);
  const hasLoneCopies =
    options.replicationFactor > 1 && existing.some((name) => shapes.get(name)?.copies === 1);
  const single = hasLoneCopies && (await isSingleBroker(admin));
  const place = await placeOf(admin, shapes, options);
  return TOPIC_NAMES.flatMap((topic) => {
    const shape = shapes.get(topic);
    if (shape === undefined) return [missingTopic(topic, place)];
    const partitions = partitionDifference(topic, shape.partitions, options);
    if (single && shape.copies === 1)
      return [
        ...(partitions === null ? [] : [partitions]),
        onlyCopy(topic, options),
        ...configDifferences(topic, configs.get(topic) ?? new Map(), ofSingleBroker(options)),
      ];
    return [
      ...(partitions === null ? [] : [partitions]),
      ...copiesDifferences(topic, shape.copies, options),
      ...configDifferences(topic, configs.get(topic) ?? new Map(), options),
    ];
  });
}

/** @limit Timeout of topic creation. Keep it at or below `requestMs` of `LIMITS`. */
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
  const refused = refusedParts(error).flatMap((part) => refusedTopic(part, options));
  const [first] = refused;
  if (first === undefined) throw error;
  const sentences = refused.map(
    ({ topic, type, said }) =>
      `  ${physicalName(options, topic)}: ${type}${said === '' ? '' : `, in the broker's words: ${said}`}. FleetGC asked for ${askedFor(topic, said, options)}.`,
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

function refusedTopic(error: Error, options: KafkaOptions): readonly Refused[] {
  const type = protocolType(error) ?? '';
  const topic = TOPIC_NAMES.find((name) => 'topic' in error && error.topic === physicalName(options, name));
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

interface TopicShape {
  readonly partitions: number;
  /** Of the partition that has the fewest. */
  readonly copies: number;
}

/** Of each of our topics that exists. */
async function topicShapes(
  admin: Pick<Admin, 'listTopics' | 'fetchTopicMetadata'>,
): Promise<ReadonlyMap<string, TopicShape>> {
  const ours: readonly string[] = TOPIC_NAMES;
  const existing = (await admin.listTopics()).filter((name) => ours.includes(name));
  if (existing.length === 0) return new Map();
  const { topics } = await admin.fetchTopicMetadata({ topics: existing });
  return new Map(
    topics.map(({ name, partitions }) => [
      name,
      {
        partitions: partitions.length,
        copies: Math.min(...partitions.map(({ replicas }) => replicas.length)),
      },
    ]),
  );
}

/** What differs, by topic; null where nothing does. */
type Differences = ReadonlyMap<TopicName, TopicDifference | null>;

/**
 * The first publish to a topic refuses another number of partitions than declared (`TOPICS_DIFFER`) and a missing topic
 * (`TOPICS_MISSING`); later ones keep to our own number, whatever the broker has by then. Asking takes connections of its own, so one
 * answer serves all that wait for it, and all topics that it finds right.
 */
export class DeclaredCheck {
  readonly #connection: KafkaConnection;
  readonly #checked = new Set<TopicName>();
  #asking: Promise<Differences> | null = null;

  constructor(connection: KafkaConnection) {
    this.#connection = connection;
  }

  async require(topics: ReadonlySet<TopicName>): Promise<void> {
    const unchecked = [...topics].filter((topic) => !this.#checked.has(topic));
    if (unchecked.length === 0) return;
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = null;
    });
    const differences = await this.#asking;
    for (const topic of unchecked) {
      const difference = differences.get(topic) ?? null;
      if (difference !== null) throw refusal(difference);
    }
  }

  async #ask(): Promise<Differences> {
    const { options, context } = this.#connection;
    const { shapes, place } = await withAdmin(options, context, async (admin, inTime) => {
      const found = await inTime(topicShapes(admin));
      return { shapes: found, place: await inTime(placeOf(admin, found, options)) };
    });
    const differences = new Map(
      TOPIC_NAMES.map((topic) => [
        topic,
        partitionDifference(topic, shapes.get(topic)?.partitions ?? 0, place),
      ]),
    );
    for (const [topic, difference] of differences) {
      this.#connection.noteTopic(topic, difference?.kind === 'partitions' ? difference.message : null);
      if (difference === null) this.#checked.add(topic);
    }
    return differences;
  }
}

/**
 * How soon somebody is told of partitions that were added behind our back, and stands still: about as long as a command lives.
 * @limit Time until new partitions are noticed.
 */
const LOOK_EVERY_MS = 60_000;

interface WatchedPartitions {
  readonly cluster: Pick<Cluster, 'refreshMetadata' | 'findTopicPartitionMetadata'>;
  readonly topics: readonly TopicName[];
  /** Of the names of topics on the brokers. */
  readonly prefix: string;
  readonly random: () => number;
  readonly wait: typeof pause;
  /** A sentence for people; `null` when nothing differs. */
  readonly report: (topic: TopicName, problem: string | null) => void;
}

/** Tells of partitions that were added or taken away, until `over` aborts. Those that are read stay the declared ones. */
export async function watchPartitions(
  { cluster, topics, prefix, random, wait, report }: WatchedPartitions,
  over: AbortSignal,
): Promise<void> {
  while (!over.aborted) {
    await wait(LOOK_EVERY_MS * (0.5 + random()), over);
    if (over.aborted) return;
    // A broker that is away is the fetcher's to tell; what was known before is looked at once more.
    await cluster.refreshMetadata().catch(() => undefined);
    if (over.aborted) return;
    for (const topic of topics)
      report(
        topic,
        partitionDifference(topic, cluster.findTopicPartitionMetadata(topic).length, { prefix })?.message ??
          null,
      );
  }
}
