import { DeadLetterCause } from '../../schemas/events/dead-letter.ts';
import { TOPICS, type TopicId, type TopicName } from '../../schemas/events/topics.ts';
import type { ActiveSubscription } from '../log/port.ts';
import type { Metrics } from '../process/metrics.ts';
import type { FloodGuard } from './dead-letters/flood-guard.ts';

/** What is counted of one consumer. */
export interface ConsumerMetrics {
  handled(topic: TopicId, durationMs: number): void;
  /** A message was read that came onto the log at this time, by the log's clock. */
  read(topic: TopicId, timestampMs: number): void;
  /** A message is done with, so long after it came onto the log. */
  done(topic: TopicId, outcome: ConsumedOutcome, ageMs: number): void;
  /** Messages of other keys in a partition that is read for one key. */
  passedOver(messages: number): void;
  watch(subscription: ActiveSubscription, guard: FloodGuard): void;
}

const OUTCOMES = ['processed', 'overtaken', ...DeadLetterCause.options] as const;
/** What became of a message: it was processed, passed over for a newer one, or kept as a dead letter for this cause. */
export type ConsumedOutcome = (typeof OUTCOMES)[number];

/** `topics`: those that the consumer reads. */
export function consumerMetrics(
  metrics: Metrics,
  consumer: string,
  topics: readonly TopicName[],
): ConsumerMetrics {
  const labels = { consumer: [consumer], topic: topics };
  const consumed = metrics.count(
    'events_consumed_total',
    'Messages that are done with, by what became of them.',
    {
      ...labels,
      outcome: OUTCOMES,
    },
  );
  const handling = metrics.distribution(
    'decision_duration_seconds',
    'Parsing and handling one message.',
    labels,
  );
  const age = metrics.distribution(
    'event_to_output_seconds',
    'From a message on the event log to the acknowledgement of what follows from it.',
    labels,
  );
  const otherKeys = metrics.count(
    'events_of_other_keys_total',
    'Messages of a shared partition that are for others.',
    {
      consumer: [consumer],
    },
  );
  const newestMs = new Map<TopicName, number>();
  metrics.gauge(
    'consumer_newest_message_timestamp_seconds',
    'When the newest message that was read came onto the event log, Unix time by its clock.',
    ['consumer', 'topic'],
    () => [...newestMs].map(([topic, atMs]) => [{ consumer, topic }, atMs / 1000]),
  );
  return {
    read: (topic, timestampMs) => {
      const { name } = TOPICS[topic];
      newestMs.set(name, Math.max(newestMs.get(name) ?? 0, timestampMs));
    },
    passedOver: (messages) => otherKeys.add({ consumer }, messages),
    handled: (topic, durationMs) =>
      handling.observe({ consumer, topic: TOPICS[topic].name }, durationMs / 1000),
    done: (topic, outcome, ageMs) => {
      const { name } = TOPICS[topic];
      consumed.add({ consumer, topic: name, outcome });
      age.observe({ consumer, topic: name }, Math.max(ageMs, 0) / 1000);
    },
    watch: (subscription, guard) => watchState(metrics, consumer, { subscription, guard }),
  };
}

interface Watched {
  readonly subscription: ActiveSubscription;
  readonly guard: FloodGuard;
}

function watchState(metrics: Metrics, consumer: string, { subscription, guard }: Watched): void {
  const lagHelp = 'Messages that are on the event log and not processed yet.';
  metrics.gauge('consumer_lag_messages', lagHelp, ['consumer', 'topic', 'partition'], () =>
    [...subscription.state().lag].map(([place, lag]) => [{ consumer, ...splitPlace(place) }, lag]),
  );
  metrics.gauge(
    'consumer_joined',
    'Whether the consumer has joined its group, or reads its orders where it needs none.',
    ['consumer'],
    () => [[{ consumer }, Number(subscription.state().joined)]],
  );
  metrics.gauge('consumer_paused', 'Whether a flood of bad messages paused it.', ['consumer'], () => [
    [{ consumer }, Number(guard.problem() !== null)],
  ]);
}

/** Of `topic/partition`. */
function splitPlace(place: string): { readonly topic: string; readonly partition: string } {
  const at = place.lastIndexOf('/');
  return { topic: place.slice(0, at), partition: place.slice(at + 1) };
}
