import type { TopicName } from '../../../schemas/events/topics.ts';
import { partitionOf } from '../partition.ts';
import type { Subscription } from '../port.ts';
import { endOf, requireDeclared } from './append.ts';
import type { PartitionEnd, Statements } from './statements.ts';

/** A partition a member owns, and how far it is. */
export interface Position {
  readonly id: number;
  readonly topic: TopicName;
  readonly partition: number;
  /** The next offset to hand out. */
  next: number;
  /** The end of the partition as last seen. */
  end: number;
}

export const positionName = ({ topic, partition }: Pick<Position, 'topic' | 'partition'>): string =>
  `${topic}/${partition}`;

/** A place beyond the end was committed for a partition that is no more; what holds its number now is new to the group. */
function firstOffset(statements: Statements, end: PartitionEnd, subscription: Subscription): number {
  const committed = statements.committed(subscription.group, end.id);
  if (committed !== null) return committed <= end.nextOffset ? committed : 0;
  return subscription.start === 'latest' ? end.nextOffset : 0;
}

function lookBackOffset(statements: Statements, end: PartitionEnd, sinceMs: number): number {
  return statements.offsetAtTime(end.id, sinceMs) ?? end.nextOffset;
}

function topicPositions(
  statements: Statements,
  topic: TopicName,
  subscription: Subscription,
  nowMs: number,
): Position[] {
  const { assignment } = subscription;
  requireDeclared(statements, topic);
  const owned =
    assignment.kind === 'shared'
      ? statements.partitions(topic)
      : [endOf(statements, topic, partitionOf(topic, assignment.key))];
  return owned.map((end) => ({
    id: end.id,
    topic,
    partition: end.partition,
    next:
      assignment.kind === 'key'
        ? lookBackOffset(statements, end, nowMs - assignment.lookBackMs)
        : firstOffset(statements, end, subscription),
    end: end.nextOffset,
  }));
}

/** Where a reader begins. */
export const startPositions = (
  statements: Statements,
  subscription: Subscription,
  nowMs: number,
): readonly Position[] =>
  subscription.topics.flatMap((topic) => topicPositions(statements, topic, subscription, nowMs));

/** Where a member of a group begins: written down at once, so that `latest` means the same moment after a restart. */
export function writtenPositions(
  statements: Statements,
  subscription: Subscription,
  nowMs: number,
): readonly Position[] {
  const positions = startPositions(statements, subscription, nowMs);
  for (const { id, next } of positions) statements.commit(subscription.group, id, next);
  return positions;
}
