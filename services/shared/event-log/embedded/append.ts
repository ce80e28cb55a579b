import type { TopicName } from '../../../../schemas/topics.ts';
import { missingTopic, partitionDifference, refusal } from '../differences.ts';
import { recordBytes } from '../limits.ts';
import { partitionOf } from '../partition.ts';
import type { OutgoingRecord } from '../port.ts';
import type { PartitionEnd, Statements } from './statements.ts';

/** The partitions of a topic as they lie in the file. Throws `TOPICS_MISSING`. */
export function partitionsOf(statements: Statements, topic: TopicName): readonly PartitionEnd[] {
  const partitions = statements.partitions(topic);
  if (partitions.length === 0) throw refusal(missingTopic(topic, statements.creation));
  return partitions;
}

/** As `partitionsOf`; throws `TOPICS_DIFFER` for another number than declared. */
export function declaredPartitions(statements: Statements, topic: TopicName): readonly PartitionEnd[] {
  const partitions = partitionsOf(statements, topic);
  const difference = partitionDifference(topic, partitions.length, statements.creation);
  if (difference !== null) throw refusal(difference);
  return partitions;
}

function endOf(statements: Statements, topic: TopicName, partition: number): PartitionEnd {
  const end = statements.partition(topic, partition);
  if (end === null) throw refusal(missingTopic(topic, statements.creation));
  return end;
}

/** Appends within a write transaction. The broker's time of a partition never goes back, whatever the clock does. */
export function append(statements: Statements, records: readonly OutgoingRecord[], nowMs: number): void {
  for (const record of records) {
    const end = endOf(statements, record.topic, partitionOf(record.topic, record.key));
    statements.insert({
      partitionId: end.id,
      offset: end.nextOffset,
      timestampMs: Math.max(nowMs, end.lastTimestampMs),
      sizeBytes: recordBytes(record),
      key: record.key,
      headers: JSON.stringify(record.headers),
      value: record.value,
    });
  }
}
