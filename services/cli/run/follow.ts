import { type EventOf, TOPICS, type TopicId } from '../../../schemas/topics.ts';
import type { EventLog } from '../../shared/event-log/port.ts';
import { parseRecord } from '../../shared/parse-record.ts';
import type { NodeTeller } from './node-teller.ts';

const FOLLOWED = ['inventory', 'decisions', 'results'] as const satisfies readonly TopicId[];

export interface Following {
  readonly log: Pick<EventLog, 'read'>;
  readonly teller: NodeTeller;
  /** Begins with what came at this time, by the log's clock. */
  readonly fromMs: number;
}

/** Tells of what comes to the log, until the signal aborts. */
export async function follow({ log, teller, fromMs }: Following, signal: AbortSignal): Promise<void> {
  const followTopic = async (topic: TopicId): Promise<void> => {
    for await (const event of eventsOf(log, { topic, fromMs }, signal)) teller.tell(event);
  };
  await Promise.all(FOLLOWED.map(followTopic));
}

async function* eventsOf<Id extends TopicId>(
  log: Following['log'],
  { topic, fromMs }: { readonly topic: Id; readonly fromMs: number },
  signal: AbortSignal,
): AsyncGenerator<EventOf<Id>> {
  const request = { topic: TOPICS[topic].name, from: { timestampMs: fromMs }, to: 'forever' } as const;
  for await (const event of log.read(request, signal)) {
    if (signal.aborted) return;
    const parsed = event.kind === 'record' ? parseRecord(topic, event.record) : null;
    if (parsed?.ok) yield parsed.event;
  }
}
