import type { EventLog, ReadEvent } from '../../packages/event-log/port.ts';
import { parseRecord } from '../../packages/pipeline/parse/parse-record.ts';
import { TOPICS, type TopicId } from '../../schemas/events/topics.ts';
import { createNarrator, type Narrator, type Tale } from '../views/narration/narrator.ts';

const WATCHED: readonly TopicId[] = ['diskStats', 'inventory', 'decisions', 'results'];

/** Reads the log as it grows and tells of it until the signal aborts. */
export async function watchLog(
  log: Pick<EventLog, 'read'>,
  tell: (tale: Tale) => void,
  signal: AbortSignal,
): Promise<void> {
  const narrator = createNarrator();
  const watch = async (topic: TopicId): Promise<void> => {
    const request = { topic: TOPICS[topic].name, from: 'earliest', to: 'forever' } as const;
    for await (const event of log.read(request, signal)) {
      for (const tale of talesOf(narrator, topic, event)) tell(tale);
    }
  };
  await Promise.all(WATCHED.map(watch));
}

function talesOf(narrator: Narrator, topic: TopicId, event: ReadEvent): readonly Tale[] {
  if (event.kind !== 'record') return [];
  const parsed = parseRecord(topic, event.record);
  return parsed.ok ? narrator.tell(parsed.event) : [];
}

/** Takes each tale, and calls `then` once: when each of these nodes has told how full its disk is. */
export function whenAllReported(nodes: readonly string[], then: () => void): (tale: Tale) => void {
  const missing = new Set(nodes);
  return ({ kind, node }) => {
    if (kind === 'usage' && missing.delete(node) && missing.size === 0) then();
  };
}
