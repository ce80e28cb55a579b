import type { WrittenEvent } from '../../../decision/freezable-decider.ts';
import { topicSpec } from '../../../log/partition.ts';
import type { LogRecord } from '../../../log/port.ts';
import { decisionGiven, kindDecidedOn, type RecordedDecision } from '../../events/recorded-decision.ts';
import { type DecidingAgain, nameOf, outputEvents, positionOf, type Redecided } from './decide-again.ts';

/** A record whose bytes are what its decider writes of the same bytes and policies, so that nobody need parse it. */
export interface ProvedDecision {
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
