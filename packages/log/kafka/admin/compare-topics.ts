import type { TopicName } from '../../../../schemas/events/topics.ts';
import { HOUR_MS } from '../../../process/durations.ts';
import { counted } from '../../../text/counted.ts';
import { MAX_RECORD_BYTES } from '../../limits.ts';
import { TOPIC_NAMES, topicSpec } from '../../partition.ts';
import type { TopicDifference } from '../../port.ts';
import { missingTopic, partitionDifference } from '../../topic-differences.ts';
import { type Admin, TOPIC_RESOURCE } from '../client/admin.ts';
import { decidesKeeping, type KafkaOptions, type TopicSetting } from '../client/options.ts';
import { topicShapes } from './declared-partitions.ts';

const FOREVER = '-1';
/** Key, headers and the frame of a batch, beside the largest value. */
const FRAME_BYTES = 256 * 1024;

/** As records of a compacted topic are few, old values would stay for a week if the segment were not closed earlier. */
const COMPACTED = {
  'cleanup.policy': 'compact',
  'segment.ms': `${HOUR_MS}`,
  'max.compaction.lag.ms': `${HOUR_MS}`,
  'delete.retention.ms': `${24 * HOUR_MS}`,
} as const;

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

/** Sizes never delete: what is kept, and for how long, is one number in one table. */
function ownConfig(topic: TopicName, options: KafkaOptions): Readonly<Record<string, string>> {
  const { compacted, retentionMs } = topicSpec(topic);
  return {
    ...(compacted ? COMPACTED : { 'cleanup.policy': 'delete' }),
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
function copiesDifferences(
  topic: TopicName,
  copies: number,
  { replicationFactor }: KafkaOptions,
): TopicDifference[] {
  if (copies === replicationFactor) return [];
  const expected = counted(replicationFactor, 'copy', 'copies');
  const found = counted(copies, 'copy', 'copies');
  const message = `Topic ${topic} has ${found} of each record, but ${replicationFactor} ${replicationFactor === 1 ? 'is' : 'are'} expected. ${OF_COPIES}`;
  return [{ topic, kind: 'config', expected, found, message }];
}

/** One sentence for all topics: nothing about any of them is wrong. */
function onlyCopy(topic: TopicName, { replicationFactor }: KafkaOptions): TopicDifference {
  return {
    topic,
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
        kind: keeping ? 'keeps-less' : 'config',
        expected: `${name}=${value}`,
        found: `${name}=${found.get(name) ?? ''}`,
        message: `Topic ${topic} has ${name}=${found.get(name) ?? ''}, but ${value} is expected. ${keeping ? ofKeeping(name, value) : remedyOf(name)}`,
      };
    });
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
  return TOPIC_NAMES.flatMap((topic) => {
    const shape = shapes.get(topic);
    if (shape === undefined) return [missingTopic(topic)];
    const partitions = partitionDifference(topic, shape.partitions);
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
