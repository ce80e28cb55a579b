import { brokenTexts, HALF_A_CHARACTER, mayHaveBrokenText } from '../../schemas/events/broken-texts.ts';
import { type EventOf, TOPICS, type TopicId, type TopicName } from '../../schemas/events/topics.ts';
import type { Output } from '../decision/handler.ts';
import { FleetGcError } from '../process/errors.ts';
import type { Metrics } from '../process/metrics.ts';
import { newTrace } from '../process/trace.ts';
import { parseValue, tooLargeText, tooManyBytes } from './parse/parse-record.ts';
import type { Publisher } from './publisher.ts';

/** The facts that agents publish, by the label of the metric. */
const FACTS = {
  inventory: 'inventory',
  diskStats: 'disk-stats',
  clusterOwnership: 'ownership',
  clusterPods: 'pods',
  clusterExpiry: 'expiry',
  clusterCensus: 'census',
} as const satisfies Partial<Record<TopicId, string>>;
const REFUSED_FACTS = Object.values(FACTS);

const isFact = (topic: TopicId): topic is keyof typeof FACTS => topic in FACTS;

/**
 * Publishes facts that consumers accept. Rejects with `EVENT_REJECTED` otherwise: the error is reported by the agent, and not by a dead
 * letter elsewhere.
 */
export function publishingReadable(
  publisher: Pick<Publisher, 'ids' | 'records' | 'send'>,
  metrics: Metrics,
): Publisher['publish'] {
  const refused = metrics.count(
    'facts_refused_total',
    'Facts that were not published because consumers would reject them.',
    { fact: REFUSED_FACTS },
  );
  const check = ({ topic, event }: Output, text: string): void => {
    const why = whyUnread(topic, event, text);
    if (why === null) return;
    if (isFact(topic)) refused.add({ fact: FACTS[topic] });
    throw new FleetGcError('EVENT_REJECTED', `consumers would reject it: ${why}`);
  };
  return async (outputs, trace = newTrace(publisher.ids)) => {
    const records = publisher.records(outputs, trace);
    for (const [at, output] of outputs.entries()) check(output, records[at]?.value?.toString() ?? '');
    await publisher.send(records);
  };
}

/** How the text of an event is larger than what is read on this topic, in a sentence; `null` where it is not. */
export const whyTooLarge = (topic: TopicName, text: string): string | null =>
  tooManyBytes(topic, Buffer.byteLength(text)) ?? tooLargeText(topic, text);

/**
 * Why consumers of the topic would dead-letter an event of this process, in a sentence; `null` if they accept it. Its text
 * need not be parsed for that.
 */
export function whyUnread<Id extends TopicId>(topic: Id, event: EventOf<Id>, text: string): string | null {
  const tooLarge = whyTooLarge(TOPICS[topic].name, text);
  if (tooLarge !== null) return tooLarge;
  const [broken] = mayHaveBrokenText(text) ? brokenTexts(event) : [];
  if (broken !== undefined) return `its texts ${HALF_A_CHARACTER}: ${broken.text}`;
  const parsed = parseValue(topic, event);
  return parsed.ok ? null : parsed.rejection.message;
}
