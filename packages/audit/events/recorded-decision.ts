import { z } from 'zod';
import { claimOf } from '../../../schemas/events/claims.ts';
import { DECISIONS } from '../../../schemas/events/decision.ts';
import { type Subject, type SubjectKind, subjectNamed } from '../../../schemas/events/identity.ts';
import type { PressureUnrelieved } from '../../../schemas/events/result.ts';
import { TOPICS, type TopicAbout } from '../../../schemas/events/topics.ts';
import type { LogRecord } from '../../log/port.ts';
import { type ParsedRecord, parseValueOf } from '../../records/parse/parse-record.ts';

/** What has to be known of a record to decide again, whatever it is about. */
const AGAIN = { id: true, input: true, policySetHash: true, outcome: true, outputIds: true } as const;
const DECIDER = { decider: z.object({ name: z.string(), version: z.string() }) };

const NodeHead = DECISIONS.node
  .pick({ ...AGAIN, overtakenBy: true, cluster: true, node: true, nodeInstance: true })
  .extend(DECIDER);
const ClusterHead = DECISIONS.cluster
  .pick({ ...AGAIN, cluster: true, clusterInstance: true })
  .extend(DECIDER);

/**
 * As much of a decision about each kind of subject as is understood. The rest of a record is compared as a whole with what comes out,
 * so nobody parses it.
 */
interface Heads {
  readonly node: z.infer<typeof NodeHead>;
  /** No fact about a cluster overtakes another one. */
  readonly cluster: z.infer<typeof ClusterHead> & { readonly overtakenBy?: never };
}
export type DecisionHeadOf<Kind extends SubjectKind> = Heads[Kind];
export type DecisionHead = DecisionHeadOf<SubjectKind>;

export const isAboutNode = (head: DecisionHead): head is DecisionHeadOf<'node'> => 'node' in head;

/** A decision record: where it lies, whom it is about, what it says as JSON, and the part of it that is understood. */
export interface RecordedDecision {
  readonly record: LogRecord;
  readonly subject: Subject;
  readonly value: unknown;
  readonly head: DecisionHead;
}

/** What lies on a topic of decisions. */
export type OnDecisions =
  | { readonly kind: 'decision'; readonly decision: RecordedDecision }
  | { readonly kind: 'unrelieved'; readonly event: PressureUnrelieved; readonly value: unknown };

/** Decisions about each kind of subject lie on a topic of their own. */
export const DECISION_TOPICS = {
  node: 'decisions',
  cluster: 'clusterDecisions',
} as const satisfies { readonly [Kind in SubjectKind]: TopicAbout<Kind> };
export type DecisionTopicId = (typeof DECISION_TOPICS)[SubjectKind];

/** What the decisions of its topic are about. */
export const kindDecidedOn = ({ topic }: LogRecord): SubjectKind =>
  topic === TOPICS[DECISION_TOPICS.cluster].name ? 'cluster' : 'node';

/** `value` is the JSON of the record. What consumers refuse is parsed whole, to say why. */
export function onDecisions(record: LogRecord, value: unknown): ParsedRecord<OnDecisions> {
  const decision = decisionGiven(record, value);
  return decision === null
    ? READERS[kindDecidedOn(record)].parse(record, value)
    : { ok: true, event: { kind: 'decision', decision } };
}

/** What a decider gave, as if it had been read from this record; `null` where the record's key or headers disagree with it. */
export function decisionGiven(record: LogRecord, value: unknown): RecordedDecision | null {
  const kind = kindDecidedOn(record);
  const understood = isDecision(kind, value) ? READERS[kind].understand(value) : null;
  return understood !== null && agrees(understood, record) ? { record, value, ...understood } : null;
}

function isDecision(kind: SubjectKind, value: unknown): boolean {
  const { type, version } = DECISIONS[kind].shape;
  const claim = claimOf(value);
  return claim?.type === type.value && claim.version === version.value;
}

type Understood = Pick<RecordedDecision, 'head' | 'subject'>;

interface Reader {
  readonly understand: (value: unknown) => Understood | null;
  readonly parse: (record: LogRecord, value: unknown) => ParsedRecord<OnDecisions>;
}

const READERS: { readonly [Kind in SubjectKind]: Reader } = {
  node: {
    understand: (value) => {
      const head = NodeHead.safeParse(value).data;
      return head === undefined ? null : { head, subject: subjectNamed('node', head) };
    },
    parse: parseOnNodeDecisions,
  },
  cluster: {
    understand: (value) => {
      const head = ClusterHead.safeParse(value).data;
      return head === undefined ? null : { head, subject: subjectNamed('cluster', head) };
    },
    parse: parseOnClusterDecisions,
  },
};

function parseOnNodeDecisions(record: LogRecord, value: unknown): ParsedRecord<OnDecisions> {
  const parsed = parseValueOf('decisions', value, record);
  if (!parsed.ok) return parsed;
  const { event } = parsed;
  if (event.type !== 'fleetgc.node.decision')
    return { ok: true, event: { kind: 'unrelieved', event, value } };
  const subject = subjectNamed('node', event);
  return { ok: true, event: { kind: 'decision', decision: { record, subject, value: event, head: event } } };
}

function parseOnClusterDecisions(record: LogRecord, value: unknown): ParsedRecord<OnDecisions> {
  const parsed = parseValueOf('clusterDecisions', value, record);
  if (!parsed.ok) return parsed;
  const { event } = parsed;
  const subject = subjectNamed('cluster', event);
  return { ok: true, event: { kind: 'decision', decision: { record, subject, value: event, head: event } } };
}

const agrees = ({ head, subject }: Understood, { key, headers }: LogRecord): boolean =>
  key === subject.key && headers.ce_id === head.id;
