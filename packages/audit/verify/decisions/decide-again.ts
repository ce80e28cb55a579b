import { TOPICS } from '../../../../schemas/events/topics.ts';
import { decisionId } from '../../../decision/common-record.ts';
import type { WrittenEvent } from '../../../decision/freezable-decider.ts';
import type { InputPosition } from '../../../decision/handler.ts';
import type { LogRecord } from '../../../log/port.ts';
import { toFleetGcError } from '../../../process/errors.ts';
import type { FrozenDecider } from '../../deciders/deciders.ts';
import { placeOf, placeText } from '../../events/log-position.ts';
import type { DecisionHead, RecordedDecision } from '../../events/recorded-decision.ts';
import type { PoliciesInForce } from '../../policies/policies-in-force.ts';
import type { PolicyHistory } from '../../policies/policy-history.ts';
import type { Coverages } from '../coverage.ts';
import type { Deviation, Findings, Gap } from '../findings.ts';
import { firstDifference, sameJson } from '../same-json.ts';
import { type ReadFromLog, whyImpossible } from './inputs.ts';
import { judgeOvertaken, type LookingAgain, type PassedOver } from './overtaken.ts';

/** What a decider gives beside its record, as far as anybody knows it. */
export interface OutputEvent {
  readonly type: string;
  readonly id: string;
}

/** What a frozen decider gives is its own affair, but for these two. */
const isOutputEvent = (output: object): output is OutputEvent =>
  'type' in output && typeof output.type === 'string' && 'id' in output && typeof output.id === 'string';

export const outputEvents = (given: readonly WrittenEvent[]): readonly OutputEvent[] =>
  given.map(({ event }) => event).filter(isOutputEvent);

/** What came of deciding again: the events beside the record, or `null` where nobody can tell. */
export interface Redecided {
  readonly input: LogRecord | null;
  readonly outputs: readonly OutputEvent[] | null;
}

export interface DecidingAgain extends ReadFromLog, Coverages {
  readonly policies: PolicyHistory;
  readonly inForce: PoliciesInForce;
  readonly findDecider: (name: string, version: string) => Promise<FrozenDecider | null>;
  readonly findings: Findings;
}

/** Decides a recorded decision again, with its own decider and policies, and tells whether the record is the same. */
export async function decideAgain(decision: RecordedDecision, parts: DecidingAgain): Promise<Redecided> {
  const { head, subject } = decision;
  if (head.id !== nameOf(head)) return { input: null, outputs: wrongId(decision, parts) };
  tellNotInForce(decision, parts);
  const input = await parts.inputs.find(head.input);
  if (input === null) return { input, outputs: await notFound(decision, parts) };
  const sha256 = parts.inputs.sha256Of(input);
  if (sha256 !== head.input.sha256) return { input, outputs: await otherInput(decision, parts, input) };
  const decider = await parts.findDecider(head.decider.name, head.decider.version);
  if (decider === null)
    return { input, outputs: gap(decision, parts, 'unknown-decider', unknownDecider(head)) };
  const position = positionOf(input, sha256);
  if (head.outcome === 'overtaken')
    return { input, outputs: await overtaken(decision, { ...parts, decider }, { input, position }) };
  const policies = parts.policies.policySetOf(subject.kind, head.policySetHash);
  if (policies === null) {
    const why = parts.policies.whyUnknown(head.policySetHash);
    return { input, outputs: gap(decision, parts, 'unknown-policy-set', why) };
  }
  const decide = () => decider.decide(parts.inputs.readBy(decider, input), position, policies);
  return { input, outputs: compare(decision, parts, { input, decide }) };
}

export const positionOf = ({ topic, partition, offset }: LogRecord, sha256: string): InputPosition => ({
  topic,
  partition,
  offset: String(offset),
  sha256,
});

/** Of a decision that came out the same again. */
export function tellProved(decision: RecordedDecision, parts: DecidingAgain): void {
  tellNotInForce(decision, parts);
  parts.findings.counts.verified++;
}

function tellNotInForce(decision: RecordedDecision, { policies, inForce, findings }: DecidingAgain): void {
  const set = policies.policySetOf(decision.subject.kind, decision.head.policySetHash);
  const problem = set && inForce.problemOf(set, decision.record.timestampMs);
  if (problem === null) return;
  const { kind, message } = problem;
  const { node, places } = whereOf(decision);
  const told = { message, node, places: [...places, ...problem.places] };
  if (kind === 'topic-recreated') findings.gap({ kind, ...told });
  else findings.deviation({ kind, ...told });
}

async function notFound(decision: RecordedDecision, parts: DecidingAgain): Promise<null> {
  const why = await whyImpossible(decision, parts);
  if (why === null) return await tellInputGone(decision, parts);
  const message = `what the record says was decided on cannot have been at ${placeText(decision.head.input)}: ${why}`;
  parts.findings.deviation({ kind: 'input-never-was', message, ...whereOf(decision) });
  return null;
}

async function tellInputGone(decision: RecordedDecision, parts: DecidingAgain): Promise<null> {
  const { record, head } = decision;
  if (await parts.inputs.beganAfter(head.input.topic, record.timestampMs))
    return gap(decision, parts, 'topic-recreated', recreated(head));
  const isExpired =
    parts.deletes &&
    head.input.topic === TOPICS.diskStats.name &&
    record.timestampMs < parts.kept('diskStats');
  return isExpired
    ? gap(decision, parts, 'disk-stats-gone', `${inputGone(head)}: disk statistics are kept for a day`)
    : gap(decision, parts, 'input-gone', `${inputGone(head)} (retention?)`);
}

export const nameOf = ({ decider, input, policySetHash, overtakenBy }: DecisionHead): string =>
  decisionId({
    decider,
    input: { event: { id: input.id }, position: { sha256: input.sha256 } },
    policies: { hash: policySetHash },
    overtakenBy,
  });

/** Whether a message may be passed over follows from the two messages alone. */
async function overtaken(
  decision: RecordedDecision,
  parts: DecidingAgain & LookingAgain,
  passedOver: PassedOver,
): Promise<readonly OutputEvent[] | null> {
  const { findings, policies } = parts;
  const { policySetHash } = decision.head;
  const judged = await judgeOvertaken(decision, passedOver, parts);
  if (judged.kind === 'right') {
    if (policies.policySetOf(decision.subject.kind, policySetHash) !== null) findings.counts.verified++;
    else gap(decision, parts, 'unknown-policy-set', policies.whyUnknown(policySetHash));
    return [];
  }
  const { message, newer } = judged;
  const { node, places } = whereOf(decision);
  const named = [...places, placeOf(passedOver.input), ...(newer === null ? [] : [newer])];
  if (judged.kind === 'gone') findings.gap({ kind: 'input-gone', message, node, places: named });
  else findings.deviation({ kind: judged.kind, message, node, places: named });
  return null;
}

function compare(
  decision: RecordedDecision,
  parts: DecidingAgain,
  { input, decide }: { readonly input: LogRecord; readonly decide: () => readonly WrittenEvent[] },
): readonly OutputEvent[] | null {
  try {
    const [record, ...outputs] = decide();
    const expected = record?.event;
    if (sameJson(decision.value, expected)) parts.findings.counts.verified++;
    else deviate(decision, parts, difference(decision, expected), input);
    return outputEvents(outputs);
  } catch (error) {
    deviate(
      decision,
      parts,
      `the decider refuses what it decided on: ${toFleetGcError(error).message}`,
      input,
    );
    return null;
  }
}

const difference = ({ value, head }: RecordedDecision, expected: unknown): string =>
  `${head.decider.name} ${head.decider.version} decides otherwise on the same bytes and policies: in the record ${firstDifference(value, expected)}`;

const whereOf = ({ record, subject }: RecordedDecision): Pick<Deviation, 'node' | 'places'> => ({
  node: subject.key,
  places: [placeOf(record)],
});

function deviate(
  decision: RecordedDecision,
  { findings }: DecidingAgain,
  message: string,
  input: LogRecord,
): void {
  const { node, places } = whereOf(decision);
  findings.deviation({ kind: 'decided-differently', message, node, places: [...places, placeOf(input)] });
}

function wrongId(decision: RecordedDecision, { findings }: DecidingAgain): null {
  const message =
    'the id of the record does not follow from its decider, its input and its policies, so one of them was changed';
  findings.deviation({ kind: 'wrong-id', message, ...whereOf(decision) });
  return null;
}

const recreated = ({ input: { topic, partition } }: DecisionHead): string =>
  `${topic}/${partition} begins after this was decided: the topic was deleted and made anew, and what was decided on is gone with the old one`;

/**
 * A topic that was made anew counts its offsets from the start again. It is told from a forgery by its very first message: who
 * forges a decision writes it now, and the log gives it its time, so it cannot lie before the topic that it names began.
 */
async function otherInput(decision: RecordedDecision, parts: DecidingAgain, input: LogRecord): Promise<null> {
  const { record, head } = decision;
  return (await parts.inputs.beganAfter(head.input.topic, record.timestampMs))
    ? gap(decision, parts, 'topic-recreated', recreated(head))
    : inputChanged(decision, parts, input);
}

function inputChanged(decision: RecordedDecision, { findings }: DecidingAgain, input: LogRecord): null {
  const isNewer = input.timestampMs > decision.record.timestampMs;
  const message = `the message at the position that the record names does not have the SHA-256 that it was decided with${isNewer ? `, and was logged after the record: what stood there was replaced, the topic was made anew, or the record names what nobody had written yet` : ''}`;
  const { node, places } = whereOf(decision);
  findings.deviation({ kind: 'input-changed', message, node, places: [...places, placeOf(input)] });
  return null;
}

function gap(
  decision: RecordedDecision,
  { findings }: DecidingAgain,
  kind: Gap['kind'],
  message: string,
): null {
  findings.gap({ kind, message, ...whereOf(decision) });
  return null;
}

const inputGone = ({ input }: DecisionHead): string =>
  `what was decided on is not on the log any more at ${placeText(input)}`;

const unknownDecider = ({ decider }: DecisionHead): string =>
  `this release has no decider ${decider.name} ${decider.version}; a newer one may have it`;
