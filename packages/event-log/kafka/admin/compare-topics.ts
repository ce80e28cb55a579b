import type { TopicName } from '../../../../schemas/events/topics.ts';
import { HOUR_MS } from '../../../process/durations.ts';
import { counted } from '../../../text/counted.ts';
import { MAX_RECORD_BYTES } from '../../limits.ts';
import { TOPIC_NAMES, topicSpec } from '../../partition.ts';
import type { TopicDifference } from '../../port.ts';
import { missingTopic, partitionDifference } from '../../topic-differences.ts';
import { type Admin, TOPIC_RESOURCE } from '../client/admin.ts';
import type { KafkaOptions } from '../client/options.ts';
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

const remedyOf = (config: string): string =>
  config === 'min.insync.replicas' ? OF_COPIES : "Change it with the broker's tools if it was not meant so.";

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
export async function findDifferences(
  admin: Pick<Admin, 'listTopics' | 'fetchTopicMetadata' | 'describeConfigs'>,
  options: KafkaOptions,
): Promise<TopicDifference[]> {
  const shapes = await topicShapes(admin);
  const existing = TOPIC_NAMES.filter((name) => shapes.has(name));
  const configs: FoundConfigs = existing.length === 0 ? new Map() : await foundConfigs(admin, existing);
  return TOPIC_NAMES.flatMap((topic) => {
    const shape = shapes.get(topic);
    if (shape === undefined) return [missingTopic(topic)];
    const partitions = partitionDifference(topic, shape.partitions);
    return [
      ...(partitions === null ? [] : [partitions]),
      ...copiesDifferences(topic, shape.copies, options),
      ...configDifferences(topic, configs.get(topic) ?? new Map(), options),
    ];
  });
}
