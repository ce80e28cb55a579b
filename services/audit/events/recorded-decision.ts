import { z } from 'zod';
import type { LogRecord } from '../../../packages/event-log/port.ts';
import { claimOf } from '../../../packages/pipeline/parse/event-schemas.ts';
import { parseJson, parseValueOf, type Rejection } from '../../../packages/pipeline/parse/parse-record.ts';
import { DECISIONS } from '../../../schemas/events/decision.ts';
import { type Subject, SubjectKind, subjectNamed } from '../../../schemas/events/identity.ts';
import type { PressureUnrelieved } from '../../../schemas/events/result.ts';

/** What has to be known of a record to decide again, whatever it is about. */
const AGAIN = {
  id: true,
  input: true,
  policySetHash: true,
  outcome: true,
  outputIds: true,
  overtakenBy: true,
} as const;
const DECIDER = { decider: z.object({ name: z.string(), version: z.string() }) };

const NodeHead = DECISIONS.node
  .pick({ ...AGAIN, cluster: true, node: true, nodeInstance: true })
  .extend(DECIDER);

/**
 * As much of a decision about each kind of subject as is understood. The rest of a record is compared as a whole with what comes out,
 * so nobody parses it.
 */
interface Heads {
  readonly node: z.infer<typeof NodeHead>;
}
export type DecisionHead = Heads[SubjectKind];

/** A decision record: where it lies, whom it is about, what it says as JSON, and the part of it that is understood. */
export interface RecordedDecision {
  readonly record: LogRecord;
  readonly subject: Subject;
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
  const claimed = kindClaimed(value);
  const understood = claimed && UNDERSTAND[claimed](value);
  if (understood !== null && agrees(understood, record))
    return { kind: 'decision', decision: { record, value, ...understood } };
  const parsed = parseValueOf('decisions', value, record);
  if (!parsed.ok) return { kind: 'rejected', rejection: parsed.rejection };
  const { event } = parsed;
  return event.type === 'fleetgc.node.decision'
    ? {
        kind: 'decision',
        decision: { record, subject: subjectNamed('node', event), value: event, head: event },
      }
    : { kind: 'unrelieved', event };
}

/** About what kind of subject a value says that it is a decision. */
function kindClaimed(value: unknown): SubjectKind | null {
  const claim = claimOf(value);
  const isClaimed = (kind: SubjectKind): boolean => {
    const { type, version } = DECISIONS[kind].shape;
    return claim?.type === type.value && claim.version === version.value;
  };
  return SubjectKind.options.find(isClaimed) ?? null;
}

type Understood = Pick<RecordedDecision, 'head' | 'subject'>;

const UNDERSTAND: { readonly [Kind in SubjectKind]: (value: unknown) => Understood | null } = {
  node: (value) => {
    const head = NodeHead.safeParse(value).data;
    return head === undefined ? null : { head, subject: subjectNamed('node', head) };
  },
};

const agrees = ({ head, subject }: Understood, { key, headers }: LogRecord): boolean =>
  key === subject.key && headers.ce_id === head.id;
