import type { TopicName } from '../../schemas/events/topics.ts';
import { TOPIC_NAMES, topicSpec } from '../log/partition.ts';
import type { PartitionName } from './archive-log.ts';

/** How far the archive is behind the log in one topic, in the partition where it is most. */
export interface TopicLag {
  readonly topic: TopicName;
  /** Nothing older than this waits to be archived. */
  readonly lagMs: number;
  /** `null`: the log keeps it for ever. */
  readonly retentionMs: number | null;
  /** Until the log deletes what waits; negative when it may have begun; `null` when it never does. */
  readonly leftMs: number | null;
}

/** Which part of a topic's retention has gone by before a warning, and before the next ones. */
const WARN_AT = [0.5, 0.75, 0.9, 1] as const;

/** How many of the warnings are due; 0: the archive is near enough to the log. */
export const dueWarnings = ({ lagMs, retentionMs }: TopicLag): number =>
  retentionMs === null ? 0 : WARN_AT.filter((part) => lagMs >= part * retentionMs).length;

/** Knows how old what is not archived yet may be. */
export interface RetentionWatch {
  /** Nothing that the log got before `sinceMs` is left to be archived of the partition. */
  reached(name: PartitionName, sinceMs: number): void;
  /** Of topics of which something is known. */
  lags(nowMs: number): readonly TopicLag[];
  /** Topics that came nearer to their retention since the last time: one more warning is due. */
  nearer(nowMs: number): readonly TopicLag[];
}

export function watchRetention(): RetentionWatch {
  const since = new Map<TopicName, Map<number, number>>();
  const warned = new Map<TopicName, number>();
  const lags = (nowMs: number): TopicLag[] =>
    TOPIC_NAMES.flatMap((topic) => lagOf(topic, since.get(topic)?.values() ?? [], nowMs));
  return {
    reached: ({ topic, partition }, sinceMs) => {
      since.set(topic, (since.get(topic) ?? new Map<number, number>()).set(partition, sinceMs));
    },
    lags,
    nearer: (nowMs) =>
      lags(nowMs).filter((lag) => {
        const before = warned.get(lag.topic) ?? 0;
        const due = dueWarnings(lag);
        warned.set(lag.topic, due);
        return due > before;
      }),
  };
}

function lagOf(topic: TopicName, since: Iterable<number>, nowMs: number): TopicLag[] {
  const oldestMs = Math.min(...since);
  if (!Number.isFinite(oldestMs)) return [];
  const { retentionMs } = topicSpec(topic);
  const lagMs = Math.max(0, nowMs - oldestMs);
  return [
    retentionMs === 'forever'
      ? { topic, lagMs, retentionMs: null, leftMs: null }
      : { topic, lagMs, retentionMs, leftMs: retentionMs - lagMs },
  ];
}
