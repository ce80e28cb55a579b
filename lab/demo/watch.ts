import {
  type Activity,
  type ActivityReader,
  createActivityReader,
} from '../../cli/views/activity/activity-reader.ts';
import type { EventLog, ReadEvent } from '../../packages/log/port.ts';
import { parseRecord } from '../../packages/records/parse/parse-record.ts';
import { TOPICS, type TopicId } from '../../schemas/events/topics.ts';

const WATCHED: readonly TopicId[] = ['diskStats', 'inventory', 'decisions', 'results'];

/** Reads the event log as it grows, and calls `onActivity` for what happens, until the signal aborts. */
export async function watchEventLog(
  log: Pick<EventLog, 'read'>,
  onActivity: (activity: Activity) => void,
  signal: AbortSignal,
): Promise<void> {
  const reader = createActivityReader();
  const watch = async (topic: TopicId): Promise<void> => {
    const request = { topic: TOPICS[topic].name, from: 'earliest', to: 'forever' } as const;
    for await (const event of log.read(request, signal)) {
      for (const activity of activitiesOf(reader, topic, event)) onActivity(activity);
    }
  };
  await Promise.all(WATCHED.map(watch));
}

function activitiesOf(reader: ActivityReader, topic: TopicId, event: ReadEvent): readonly Activity[] {
  if (event.kind !== 'record') return [];
  const parsed = parseRecord(topic, event.record);
  return parsed.ok ? reader.activitiesIn(parsed.event) : [];
}

/** Takes each activity, and calls `then` once: when each of these nodes has told how full its disk is. */
export function whenAllReported(nodes: readonly string[], then: () => void): (activity: Activity) => void {
  const missing = new Set(nodes);
  return ({ kind, node }) => {
    if (kind === 'usage' && missing.delete(node) && missing.size === 0) then();
  };
}
