import type { TopicName } from '../../../../schemas/events/topics.ts';
import { HOUR_MS } from '../../../process/durations.ts';
import { MAX_RECORD_BYTES } from '../../limits.ts';
import { TOPIC_NAMES, topicSpec } from '../../partition.ts';
import type { TopicDifference } from '../../port.ts';
import { missingTopic, partitionDifference } from '../../topic-differences.ts';
import { type Admin, TOPIC_RESOURCE } from '../client/admin.ts';
import type { KafkaOptions } from '../client/options.ts';
import { partitionCounts } from './declared-partitions.ts';

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

/** What each topic is configured with. Sizes never delete: what is kept, and for how long, is one number in one table. */
export function topicConfig(topic: TopicName, options: KafkaOptions): Readonly<Record<string, string>> {
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

async function foundConfigs(admin: Admin, topics: readonly TopicName[]): Promise<FoundConfigs> {
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
  const configs: FoundConfigs = existing.length === 0 ? new Map() : await foundConfigs(admin, existing);
  return TOPIC_NAMES.flatMap((topic) => {
    const count = counts.get(topic);
    if (count === undefined) return [missingTopic(topic)];
    const difference = partitionDifference(topic, count);
    const config = configDifferences(topic, configs.get(topic) ?? new Map(), options);
    return difference === null ? config : [difference, ...config];
  });
}
