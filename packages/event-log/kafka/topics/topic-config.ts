import type { TopicName } from '../../../../schemas/events/topics.ts';
import { HOUR_MS } from '../../../process/durations.ts';
import { MAX_RECORD_BYTES } from '../../limits.ts';
import { topicSpec } from '../../partition.ts';
import type { KafkaOptions } from '../client/options.ts';

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
