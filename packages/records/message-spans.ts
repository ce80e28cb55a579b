import { type FleetEvent, TOPICS, type TopicId } from '../../schemas/events/topics.ts';
import type { Outputs } from '../decision/handler.ts';
import type { LogRecord } from '../log/port.ts';
import { parseTraceparent, type TraceContext } from '../process/trace.ts';
import type { Span, SpanAttributes, Tracer } from '../process/tracer.ts';
import type { Handled, HandledWork } from './decide.ts';
import { topicIdOf } from './parse/parse-record.ts';

/** Orders bring something about, so whoever was given one says so. */
const ORDERS: ReadonlySet<TopicId> = new Set<TopicId>(['observe', 'commands', 'clusterCommands']);
const DECISION_TOPICS: ReadonlySet<TopicId> = new Set<TopicId>(['decisions', 'clusterDecisions']);

export interface MessageSpansSettings {
  readonly tracer: Tracer;
  /** The consumer group. */
  readonly group: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/**
 * Records how a message was handled, where that led to something: an order was given, carried on or followed, or the handler failed.
 * Of the others, which are nearly all, no span is made.
 */
export function recordMessage(
  { record, work, failure }: Handled,
  tookMs: number,
  { tracer, group, now }: MessageSpansSettings,
): void {
  if (work === undefined) return;
  const topic = topicIdOf(record.topic);
  const { event, trace, outputs } = work;
  const isContinued = ORDERS.has(topic) || isOfReclaim(topic, event);
  if (!isContinued && failure === null && !hasOrder(outputs)) return;
  const endMs = now();
  const sender = senderOf(record);
  tracer.record({
    name: `process ${record.topic}`,
    kind: 'consumer',
    context: trace,
    parent: isContinued || topic === 'diskStats' ? sender : null,
    links: isContinued || topic === 'diskStats' || sender === null ? [] : [sender],
    startMs: endMs - tookMs,
    endMs,
    attributes: {
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process',
      'messaging.consumer.group.name': group,
      ...placeOf(record),
      ...subjectAttributes(event),
      ...decisionAttributes(work),
    },
    failure: failure?.cause ?? null,
  });
}

const hasOrder = (outputs: Outputs): boolean =>
  outputs.some((stage) => stage.some(({ topic }) => ORDERS.has(topic)));

/** Whoever sent it recorded that too: facts that answer an order, and results. Other facts have no span that could be a parent. */
const isOfReclaim = (topic: TopicId, event: FleetEvent): boolean =>
  (topic === 'inventory' || topic === 'results') && reclaimOf(event) !== null;

function reclaimOf(event: FleetEvent) {
  return 'reclaim' in event ? event.reclaim : null;
}

function senderOf({ headers }: LogRecord): TraceContext | null {
  const { traceparent } = headers;
  return traceparent === undefined || parseTraceparent(traceparent) === undefined ? null : { traceparent };
}

const placeOf = ({ topic, partition, offset, headers, value }: LogRecord): SpanAttributes => ({
  'messaging.destination.name': topic,
  'messaging.destination.partition.id': String(partition),
  'messaging.kafka.offset': Number(offset),
  'messaging.message.id': headers.ce_id ?? '',
  'messaging.message.body.size': value?.length ?? 0,
});

/** What was sent of an event, for who sends one that is worth a span. */
export interface Sent extends Pick<Span, 'context' | 'parent' | 'startMs' | 'endMs'> {
  readonly topic: TopicId;
  readonly event: FleetEvent;
}

/** The span of a message that went out. */
export function sendSpan({ topic, event, ...span }: Sent): Span {
  const { name } = TOPICS[topic];
  return {
    ...span,
    name: `send ${name}`,
    kind: 'producer',
    links: [],
    attributes: {
      'messaging.operation.name': 'send',
      'messaging.operation.type': 'send',
      'messaging.destination.name': name,
      'messaging.message.id': event.id,
      ...subjectAttributes(event),
    },
    failure: null,
  };
}

/** Whom an event is about, and of which reclaim it is. */
export function subjectAttributes(event: FleetEvent): SpanAttributes {
  const reclaim = reclaimOf(event);
  return {
    ...('cluster' in event && { 'k8s.cluster.name': event.cluster }),
    ...('node' in event && { 'k8s.node.name': event.node }),
    ...(reclaim !== null && {
      'fleetgc.reclaim.id': reclaim.id,
      'fleetgc.reclaim.signal': reclaim.cause.signal,
      'fleetgc.reclaim.step': reclaim.step,
      'fleetgc.reclaim.round': reclaim.round,
    }),
  };
}

function decisionAttributes({ outputs }: HandledWork): SpanAttributes {
  const event = outputs.flat().find(({ topic }) => DECISION_TOPICS.has(topic))?.event;
  if (event === undefined || !('outcome' in event)) return {};
  return { 'fleetgc.decision.id': event.id, 'fleetgc.decision.outcome': event.outcome };
}
