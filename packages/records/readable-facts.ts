import type { TopicId } from '../../schemas/events/topics.ts';
import type { Output } from '../decision/handler.ts';
import { FleetGcError } from '../process/errors.ts';
import type { Metrics } from '../process/metrics.ts';
import { newTrace } from '../process/trace.ts';
import { whyUnread } from './parse/why-unread.ts';
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
export const REFUSED_FACTS = Object.values(FACTS);

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
