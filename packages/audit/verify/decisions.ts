import type { MessageReference } from '../../../schemas/events/decision-parts.ts';
import { SUBJECTS } from '../../../schemas/events/identity.ts';
import { isOffsetText } from '../../../schemas/events/offset-text.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import type { WrittenEvent } from '../../decision/freezable-decider.ts';
import type { InputPosition } from '../../decision/handler.ts';
import { decisionId } from '../../decision/record.ts';
import { topicSpec } from '../../log/partition.ts';
import type { LogRecord } from '../../log/port.ts';
import { FleetGcError, toFleetGcError } from '../../process/errors.ts';
import { HEADS, parseHead } from '../../records/parse/parse-head.ts';
import { disagreement } from '../../records/parse/parse-record.ts';
import type { FrozenDecider } from '../deciders/deciders.ts';
import { type Place, placeOf, placeText } from '../events/log-position.ts';
import {
  type DecisionHead,
  decisionGiven,
  kindDecidedOn,
  type RecordedDecision,
} from '../events/recorded-decision.ts';
import type { PoliciesInForce } from '../policies/policies-in-force.ts';
import type { PolicyHistory } from '../policies/policy-history.ts';
import type { Coverages } from './coverage.ts';
import { type Deviation, type Findings, firstDifference, type Gap, sameJson } from './findings.ts';
import { decidesOn, type Inputs, type ReadFromLog, whyImpossible } from './inputs.ts';

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

const positionOf = ({ topic, partition, offset }: LogRecord, sha256: string): InputPosition => ({
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

const nameOf = ({ decider, input, policySetHash, overtakenBy }: DecisionHead): string =>
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

/** A record whose bytes are what its decider writes of the same bytes and policies, so that nobody need parse it. */
interface ProvedDecision {
  readonly decision: RecordedDecision;
  readonly again: Redecided;
}

/**
 * Decides again what a record seems to be, and compares texts. `null` where they differ, and where nobody can tell: then the
 * record is parsed, and `decideAgain` says what is wrong with it, if anything is. Nothing is told or counted here.
 */
export async function provedByText(record: LogRecord, parts: DecidingAgain): Promise<ProvedDecision | null> {
  const hint = hintIn(record);
  const input = hint && (await parts.inputs.find(hint.input));
  if (!hint || !input || parts.inputs.sha256Of(input) !== hint.sha256) return null;
  const decider = await parts.findDecider(hint.name, hint.version);
  const policies = parts.policies.policySetOf(kindDecidedOn(record), hint.policySetHash);
  if (decider === null || policies === null) return null;
  const [expected, ...outputs] = attempt(() =>
    decider.decide(parts.inputs.readBy(decider, input), positionOf(input, hint.sha256), policies),
  );
  if (expected === undefined || !isText(record, expected.text)) return null;
  const decision = decisionGiven(record, expected.event);
  if (decision === null || decision.head.id !== nameOf(decision.head)) return null;
  return { decision, again: { input, outputs: outputEvents(outputs) } };
}

/** What it takes to decide again. */
interface Hint {
  readonly name: string;
  readonly version: string;
  readonly input: { readonly topic: string; readonly partition: number; readonly offset: string };
  readonly sha256: string;
  readonly policySetHash: string;
}

const DECIDER = /"decider":\{"name":"([^"]+)","version":"([^"]+)"\}/;
const INPUT =
  /"input":\{"id":"[^"]*","offset":"(\d+)","partition":(\d{1,9}),"sha256":"([0-9a-f]{64})","topic":"([^"]+)"\}/;
const POLICIES = /"policySetHash":"([^"]+)"/;
const PASSED_OVER = '"outcome":"overtaken"';
/** All of it stands before the verdicts. */
const LOOKED_AT_BYTES = 4 * 1024;

/**
 * By the first places that look like it, in canonical form: whether they are what they look like follows from the comparison of all
 * of the text, and of no other record anything is believed. A message that was passed over is not decided on.
 */
function hintIn({ topic: decisions, value }: LogRecord): Hint | null {
  if (value === null || value.length > topicSpec(decisions).bounds.bytes) return null;
  const beginning = value.toString('latin1', 0, LOOKED_AT_BYTES);
  if (beginning.includes(PASSED_OVER)) return null;
  const [, name, version] = DECIDER.exec(beginning) ?? [];
  const [, offset, partition, sha256, topic] = INPUT.exec(beginning) ?? [];
  const [, policySetHash] = POLICIES.exec(beginning) ?? [];
  if (!name || !version || !offset || !partition || !sha256 || !topic || !policySetHash) return null;
  return { name, version, input: { topic, partition: Number(partition), offset }, sha256, policySetHash };
}

/** What a decider refuses it is asked once more, by who tells of it. */
function attempt(decide: () => readonly WrittenEvent[]): readonly WrittenEvent[] {
  try {
    return decide();
  } catch {
    return [];
  }
}

/** What is written here is compared and forgotten: a buffer of its own for each text were garbage as large as the log. */
let scratch = Buffer.alloc(64 * 1024);
/** A character has at most so many bytes: with room for one more, a longer text shows. */
const ONE_MORE = 4;

function isText({ value }: LogRecord, text: string): boolean {
  if (value === null || text.length > value.length) return false;
  if (scratch.length < value.length + ONE_MORE) scratch = Buffer.alloc(2 * value.length + ONE_MORE);
  const written = scratch.write(text, 0, value.length + ONE_MORE, 'utf8');
  return written === value.length && value.compare(scratch, 0, written) === 0;
}

/** Whether a record rightly says that its message was overtaken; `newer` is what lies where it points to. */
type Judgement =
  | { readonly kind: 'right' }
  | {
      readonly kind: 'wrongly-overtaken' | 'decided-differently' | 'gone';
      readonly message: string;
      readonly newer: Place | null;
    };

/** The message that was passed over, as it lies on the log. */
interface PassedOver {
  readonly input: LogRecord;
  readonly position: InputPosition;
}

/** Where to look, and by which rule. */
interface LookingAgain {
  readonly inputs: Inputs;
  readonly decider: FrozenDecider;
}

/** Looks at both messages as the decider of the record did, and makes the record once more. */
export async function judgeOvertaken(
  decision: RecordedDecision,
  { input, position }: PassedOver,
  { inputs, decider }: LookingAgain,
): Promise<Judgement> {
  const { overtakenBy, policySetHash } = decision.head;
  const topic = input.topic === TOPICS.inventory.name ? 'inventory' : 'diskStats';
  const older = parseHead(topic, input);
  if (decidesOn(decider.name, TOPICS[topic].name) !== true || older === null)
    return wrong('its decider passes over no such message');
  if (overtakenBy === undefined) return wrong('it does not say by what');
  if (!liesAfter(overtakenBy, position))
    return wrong(`${placeText(overtakenBy)} does not lie after it in its partition`);
  const newer = await findNewer(topic, overtakenBy, { inputs, decider });
  if (newer === null) return await newerNotFound(overtakenBy, inputs);
  const { event, place } = newer;
  const problem = problemOf(event, overtakenBy);
  if (problem !== null || event === null) return wrong(problem ?? '', place);
  const expected = decider.passOver({ older, newer: event, position, overtakenBy, policySetHash });
  return expected === null ? wrong(needed(overtakenBy), place) : comparePassedOver(decision, expected.event);
}

const wrong = (why: string, newer: Place | null = null): Judgement => ({
  kind: 'wrongly-overtaken',
  message: `the record says that its message was overtaken, and ${why}`,
  newer,
});

const liesAfter = (newer: MessageReference, { topic, partition, offset }: InputPosition): boolean =>
  newer.topic === topic &&
  newer.partition === partition &&
  isOffsetText(newer.offset) &&
  BigInt(newer.offset) > BigInt(offset);

/** Retention takes the older first, so a newer one that is gone was deleted from the middle, or never there. */
async function newerNotFound(overtakenBy: MessageReference, inputs: Inputs): Promise<Judgement> {
  const place = placeText(overtakenBy);
  if (!(await inputs.hasLater(overtakenBy))) return wrong(`${place} is not on the log`);
  const message = `the newer message is not on the log any more at ${place}, and later ones are`;
  return { kind: 'gone', message, newer: null };
}

function problemOf(event: NewerEvent | null, overtakenBy: MessageReference): string | null {
  const place = placeText(overtakenBy);
  if (event === null) return `what lies at ${place} is nothing that can be decided on`;
  return event.id === overtakenBy.id ? null : `at ${place} lies ${event.id}, not ${overtakenBy.id}`;
}

const needed = (overtakenBy: MessageReference): string =>
  `${placeText(overtakenBy)} does not make it needless: it is not complete, not late enough, of another node or installation, or not about the same order`;

/** What a decider reads of a newer message, without its lists, which are not to be kept. */
interface NewerEvent {
  readonly id: string;
}

/** What lies where a record points to; `event` is `null` when it is nothing that can be decided on. */
interface FoundNewer {
  readonly place: Place;
  readonly event: NewerEvent | null;
}

/** Many are overtaken by one that may lie far behind them, and others by others in turn: each is read once, and takes 1 kB. */
const foundNewer = new WeakMap<Inputs, Map<string, FoundNewer>>();
const MAX_FOUND = 2048;

async function findNewer(
  topic: keyof typeof HEADS,
  reference: MessageReference,
  looking: LookingAgain,
): Promise<FoundNewer | null> {
  const { inputs, decider } = looking;
  const known = foundNewer.get(inputs) ?? new Map<string, FoundNewer>();
  foundNewer.set(inputs, known);
  const name = `${decider.reader} ${placeText(reference)}`;
  const record = known.has(name) ? null : await inputs.find(reference);
  if (record === null) return known.get(name) ?? null;
  const found = { place: placeOf(record), event: readNewer(topic, record, looking) };
  const [oldest] = known.keys();
  if (oldest !== undefined && known.size >= MAX_FOUND) known.delete(oldest);
  known.set(name, found);
  return found;
}

function readNewer(
  topic: keyof typeof HEADS,
  record: LogRecord,
  { inputs, decider }: LookingAgain,
): NewerEvent | null {
  const event = readOrNothing(record, { inputs, decider });
  const head = HEADS[topic].safeParse(event).data;
  if (head === undefined) return null;
  const { keyOf } = SUBJECTS[TOPICS[topic].key];
  if (disagreement(keyOf(head), head, record)) return null;
  return { id: head.id, ...withoutLists(event) };
}

function readOrNothing(record: LogRecord, { inputs, decider }: LookingAgain): unknown {
  try {
    return inputs.readBy(decider, record);
  } catch (error) {
    if (error instanceof FleetGcError && error.code === 'EVENT_REJECTED') return undefined;
    throw error;
  }
}

const withoutLists = (event: unknown): object =>
  Object.fromEntries(Object.entries(Object(event)).filter(([, value]) => !Array.isArray(value)));

function comparePassedOver({ value }: RecordedDecision, expected: object): Judgement {
  if (sameJson(value, expected)) return { kind: 'right' };
  const message = `the record of an overtaken message is not as such are: ${firstDifference(value, expected)}`;
  return { kind: 'decided-differently', message, newer: null };
}
