import type { EventLog } from '../../packages/log/port.ts';
import { parseRecord } from '../../packages/records/parse/parse-record.ts';
import { type EventOf, TOPICS, type TopicId } from '../../schemas/events/topics.ts';
import type { EventPrinter } from './event-lines.ts';

const FOLLOWED = ['inventory', 'decisions', 'results'] as const satisfies readonly TopicId[];

export interface Following {
  readonly log: Pick<EventLog, 'read'>;
  readonly printer: EventPrinter;
  /** Begins with what came at this time, by the log's clock. */
  readonly fromMs: number;
}

/** Inventories come every five minutes: what is decided on at first is one of these. */
const KNOWN_BEFORE_MS = 15 * 60_000;

/** Prints what comes to the event log, until the signal aborts. */
export async function follow({ log, printer, fromMs }: Following, signal: AbortSignal): Promise<void> {
  await learnNames({ log, printer, fromMs }, signal);
  const followTopic = async (topic: TopicId): Promise<void> => {
    for await (const event of eventsOf(log, { topic, fromMs }, signal)) printer.printEvent(event);
  };
  await Promise.all(FOLLOWED.map(followTopic));
}

/** After a crash the first decisions are on inventories from before it, and results on objects that are gone. */
async function learnNames({ log, printer, fromMs }: Following, signal: AbortSignal): Promise<void> {
  const from = { timestampMs: fromMs - KNOWN_BEFORE_MS };
  for await (const event of log.read({ topic: TOPICS.inventory.name, from, to: 'end' }, signal)) {
    if (event.kind !== 'record') continue;
    const parsed = parseRecord('inventory', event.record);
    if (parsed.ok && parsed.event.status === 'complete') printer.learnNames(parsed.event);
  }
}

/** What comes to a topic, as far as it can be read, until the signal aborts. */
export async function* eventsOf<Id extends TopicId>(
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
