import type { TopicName } from '../../../schemas/events/topics.ts';
import { recordBytes } from '../limits.ts';
import { partitionOf } from '../partition.ts';
import type { OutgoingRecord } from '../port.ts';
import { missingTopic, partitionDifference, refusal } from '../topic-differences.ts';
import type { PartitionEnd, Statements } from './statements.ts';

/** Throws `TOPICS_MISSING`, and `TOPICS_DIFFER` for another number of partitions than declared. */
export function requireDeclared(statements: Statements, topic: TopicName): void {
  const count = statements.countPartitions(topic);
  if (count === 0) throw refusal(missingTopic(topic, statements.creation));
  const difference = partitionDifference(topic, count, statements.creation);
  if (difference !== null) throw refusal(difference);
}

/** Throws `TOPICS_MISSING`. */
export function endOf(statements: Statements, topic: TopicName, partition: number): PartitionEnd {
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
