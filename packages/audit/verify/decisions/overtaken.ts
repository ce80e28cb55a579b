import type { MessageReference } from '../../../../schemas/events/decision-parts.ts';
import { SUBJECTS } from '../../../../schemas/events/identity.ts';
import { isOffsetText } from '../../../../schemas/events/offset-text.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import type { InputPosition } from '../../../decision/handler.ts';
import type { LogRecord } from '../../../log/port.ts';
import { FleetGcError } from '../../../process/errors.ts';
import { HEADS, parseHead } from '../../../records/parse/parse-head.ts';
import { disagreement } from '../../../records/parse/parse-record.ts';
import type { FrozenDecider } from '../../deciders/deciders.ts';
import { type Place, placeOf, placeText } from '../../events/log-position.ts';
import type { RecordedDecision } from '../../events/recorded-decision.ts';
import { firstDifference, sameJson } from '../same-json.ts';
import { decidesOn, type Inputs } from './inputs.ts';

/** Whether a record rightly says that its message was overtaken; `newer` is what lies where it points to. */
export type Judgement =
  | { readonly kind: 'right' }
  | {
      readonly kind: 'wrongly-overtaken' | 'decided-differently' | 'gone';
      readonly message: string;
      readonly newer: Place | null;
    };

/** The message that was passed over, as it lies on the log. */
export interface PassedOver {
  readonly input: LogRecord;
  readonly position: InputPosition;
}

/** Where to look, and by which rule. */
export interface LookingAgain {
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
  if (newer === null) return await notFound(overtakenBy, inputs);
  const { event, place } = newer;
  const problem = problemOf(event, overtakenBy);
  if (problem !== null || event === null) return wrong(problem ?? '', place);
  const expected = decider.passOver({ older, newer: event, position, overtakenBy, policySetHash });
  return expected === null ? wrong(needed(overtakenBy), place) : compare(decision, expected.event);
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
async function notFound(overtakenBy: MessageReference, inputs: Inputs): Promise<Judgement> {
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

function compare({ value }: RecordedDecision, expected: object): Judgement {
  if (sameJson(value, expected)) return { kind: 'right' };
  const message = `the record of an overtaken message is not as such are: ${firstDifference(value, expected)}`;
  return { kind: 'decided-differently', message, newer: null };
}
