import type { Decision, MessageReference } from '../../../schemas/decision.ts';
import { TOPICS } from '../../../schemas/topics.ts';
import { type NewerEvent, overtakes } from '../../shared/decision/overtaking.ts';
import type { LogRecord } from '../../shared/event-log/port.ts';
import type { InputPosition } from '../../shared/handler.ts';
import { withoutLists } from '../../shared/newer-messages.ts';
import { type OvertakenInput, overtakenHandler } from '../../shared/overtaken-record.ts';
import { type EventHead, type HEADS, parseHead } from '../../shared/parse-head.ts';
import { parseRecord } from '../../shared/parse-record.ts';
import { type Place, placeOf, placeText } from './findings.ts';
import type { Inputs } from './inputs.ts';
import type { RecordedDecision } from './recorded-decision.ts';
import { firstDifference, sameJson } from './same-json.ts';
import { DECIDERS_OF } from './undecided.ts';

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

/** Looks at both messages, and makes the record once more. */
export async function judgeOvertaken(
  decision: RecordedDecision,
  passedOver: PassedOver,
  inputs: Inputs,
): Promise<Judgement> {
  const { overtakenBy } = decision.head;
  const topic = passedOver.input.topic === TOPICS.inventory.name ? 'inventory' : 'diskStats';
  const name = DECIDERS_OF[TOPICS[topic].name].find((one) => one === decision.head.decider.name);
  const event = parseHead(topic, passedOver.input);
  if (name === undefined || event === null) return wrong('its decider passes over no such message');
  if (overtakenBy === undefined) return wrong('it does not say by what');
  if (!liesAfter(overtakenBy, passedOver.position))
    return wrong(`${placeText(overtakenBy)} does not lie after it in its partition`);
  const newer = await findNewer(topic, overtakenBy, inputs);
  if (newer === null) return await notFound(overtakenBy, inputs);
  const problem = problemOf(newer.event, { overtakenBy, older: event });
  if (problem !== null) return wrong(problem, newer.place);
  const decider = { name, version: decision.head.decider.version };
  return compare(decision, { decider, input: { event, position: passedOver.position, overtakenBy } });
}

const wrong = (why: string, newer: Place | null = null): Judgement => ({
  kind: 'wrongly-overtaken',
  message: `the record says that its message was overtaken, and ${why}`,
  newer,
});

const liesAfter = (newer: MessageReference, { topic, partition, offset }: InputPosition): boolean =>
  newer.topic === topic &&
  newer.partition === partition &&
  /^\d{1,18}$/.test(newer.offset) &&
  BigInt(newer.offset) > BigInt(offset);

/** Retention takes the older first, so a newer one that is gone was deleted from the middle, or never there. */
async function notFound(overtakenBy: MessageReference, inputs: Inputs): Promise<Judgement> {
  const place = placeText(overtakenBy);
  if (!(await inputs.hasLater(overtakenBy))) return wrong(`${place} is not on the log`);
  const message = `the newer message is not on the log any more at ${place}, and later ones are`;
  return { kind: 'gone', message, newer: null };
}

interface Overtaking {
  readonly overtakenBy: MessageReference;
  readonly older: EventHead;
}

function problemOf(event: NewerEvent | null, { overtakenBy, older }: Overtaking): string | null {
  const place = placeText(overtakenBy);
  if (event === null) return `what lies at ${place} is nothing that can be decided on`;
  if (event.id !== overtakenBy.id) return `at ${place} lies ${event.id}, not ${overtakenBy.id}`;
  return overtakes(event, older)
    ? null
    : `${place} does not make it needless: it is not complete, not late enough, of another node or installation, or not about the same order`;
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
  inputs: Inputs,
): Promise<FoundNewer | null> {
  const known = foundNewer.get(inputs) ?? new Map<string, FoundNewer>();
  foundNewer.set(inputs, known);
  const name = placeText(reference);
  const record = known.has(name) ? null : await inputs.find(reference);
  if (record === null) return known.get(name) ?? null;
  const parsed = parseRecord(topic, record);
  const found = { place: placeOf(record), event: parsed.ok ? withoutLists(parsed.event) : null };
  const [oldest] = known.keys();
  if (oldest !== undefined && known.size >= MAX_FOUND) known.delete(oldest);
  known.set(name, found);
  return found;
}

interface Expected {
  readonly decider: Decision['decider'];
  readonly input: OvertakenInput;
}

function compare({ value, head }: RecordedDecision, { decider, input }: Expected): Judgement {
  const outputs = overtakenHandler(decider, () => ({ hash: head.policySetHash }))(input);
  const [expected] = outputs.flat().map(({ event }) => event);
  if (sameJson(value, expected)) return { kind: 'right' };
  const message = `the record of an overtaken message is not as such are: ${firstDifference(value, expected)}`;
  return { kind: 'decided-differently', message, newer: null };
}
