import { z } from 'zod';
import type { LogRecord } from '../../../packages/event-log/port.ts';
import { claimOf } from '../../../packages/pipeline/parse/event-schemas.ts';
import { parseJson, parseValueOf, type Rejection } from '../../../packages/pipeline/parse/parse-record.ts';
import { Decision } from '../../../schemas/events/decision.ts';
import { nodeKey } from '../../../schemas/events/identity.ts';
import type { PressureUnrelieved } from '../../../schemas/events/result.ts';

/**
 * What has to be known of a record to decide again. The rest of it is compared as a whole with what comes out, so nobody
 * parses it.
 */
export const DecisionHead = Decision.pick({
  id: true,
  cluster: true,
  node: true,
  nodeInstance: true,
  input: true,
  policySetHash: true,
  outcome: true,
  outputIds: true,
  overtakenBy: true,
}).extend({ decider: z.object({ name: z.string(), version: z.string() }) });
export type DecisionHead = z.infer<typeof DecisionHead>;

/** A decision record: where it lies, what it says as JSON, and the part of it that is understood. */
export interface RecordedDecision {
  readonly record: LogRecord;
  readonly value: unknown;
  readonly head: DecisionHead;
}

/** What lies on the topic of decisions. */
export type OnDecisions =
  | { readonly kind: 'decision'; readonly decision: RecordedDecision }
  | { readonly kind: 'unrelieved'; readonly event: PressureUnrelieved }
  | { readonly kind: 'rejected'; readonly rejection: Rejection };

export function readOnDecisions(record: LogRecord): OnDecisions {
  const json = parseJson(record.topic, record.value);
  return json.ok ? onDecisions(record, json.event) : { kind: 'rejected', rejection: json.rejection };
}

/** The same where `value` is the JSON of the record. What consumers refuse is parsed whole, to say why. */
export function onDecisions(record: LogRecord, value: unknown): OnDecisions {
  const head = isDecision(value) ? DecisionHead.safeParse(value).data : undefined;
  if (head !== undefined && agrees(head, record))
    return { kind: 'decision', decision: { record, value, head } };
  const parsed = parseValueOf('decisions', value, record);
  if (!parsed.ok) return { kind: 'rejected', rejection: parsed.rejection };
  const { event } = parsed;
  return event.type === 'fleetgc.node.decision'
    ? { kind: 'decision', decision: { record, value: event, head: event } }
    : { kind: 'unrelieved', event };
}

function isDecision(value: unknown): boolean {
  const claim = claimOf(value);
  return claim?.type === 'fleetgc.node.decision' && claim.version === 1;
}

const agrees = (head: DecisionHead, { key, headers }: LogRecord): boolean =>
  key === nodeKey(head) && headers.ce_id === head.id;
