import type { TopicName } from '../../../schemas/events/topics.ts';
import { partitionOf } from '../partition.ts';
import type { Subscription } from '../port.ts';
import type { Tables } from './database.ts';
import type { PartitionEnd } from './partitions.ts';

/** A partition a member owns, and how far it is. */
export interface Position {
  readonly id: number;
  readonly topic: TopicName;
  readonly partition: number;
  /** The next offset to hand out. */
  next: number;
  /** Processes that ended while the group had the next record in hand; none where there is no group. */
  readonly deaths: number;
  /** The end of the partition as last seen. */
  end: number;
}

/** A place beyond the end was committed for a partition that is no more; what holds its number now is new to the group. */
function firstOffset({ groups }: Tables, end: PartitionEnd, subscription: Subscription): number {
  const committed = groups.committed(subscription.group, end.id);
  if (committed !== null) return committed <= end.nextOffset ? committed : 0;
  return subscription.start === 'latest' ? end.nextOffset : 0;
}

function topicPositions(
  tables: Tables,
  topic: TopicName,
  subscription: Subscription,
  nowMs: number,
): Position[] {
  const { assignment } = subscription;
  const { partitions, records } = tables;
  partitions.requireDeclared(topic);
  const owned =
    assignment.kind === 'shared'
      ? partitions.ofTopic(topic)
      : [partitions.require(topic, partitionOf(topic, assignment.key))];
  return owned.map((end) => ({
    id: end.id,
    topic,
    partition: end.partition,
    next:
      assignment.kind === 'key'
        ? (records.offsetAtTime(end.id, nowMs - assignment.lookBackMs) ?? end.nextOffset)
        : firstOffset(tables, end, subscription),
    deaths: assignment.kind === 'key' ? 0 : tables.groups.deaths(subscription.group, end.id),
    end: end.nextOffset,
  }));
}

/** Where a reader begins. */
export const startPositions = (
  tables: Tables,
  subscription: Subscription,
  nowMs: number,
): readonly Position[] =>
  subscription.topics.flatMap((topic) => topicPositions(tables, topic, subscription, nowMs));

/** Where a member of a group begins: written down at once, so that `latest` means the same moment after a restart. */
export function writtenPositions(
  tables: Tables,
  subscription: Subscription,
  nowMs: number,
): readonly Position[] {
  const positions = startPositions(tables, subscription, nowMs);
  for (const { id, next, deaths } of positions) {
    tables.groups.commit(subscription.group, id, next);
    tables.groups.putDeaths(subscription.group, id, deaths);
  }
  return positions;
}
