import type { Decision, MessageReference } from '../../../schemas/decision.ts';
import { type DiskStats, DiskStatsHead } from '../../../schemas/disk-stats.ts';
import { type Inventory, InventoryHead } from '../../../schemas/inventory.ts';
import { TOPICS } from '../../../schemas/topics.ts';
import { type NewerEvent, overtakes } from '../../shared/decision/overtaking.ts';
import type { LogRecord } from '../../shared/event-log/port.ts';
import type { InputPosition } from '../../shared/handler.ts';
import { type OvertakenInput, overtakenHandler } from '../../shared/overtaken-record.ts';
import { type EventHead, type HEADS, parseHead } from '../../shared/parse-head.ts';
import { parseRecord } from '../../shared/parse-record.ts';
import { placeText } from './findings.ts';
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
      readonly newer: LogRecord | null;
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
  const newer = await inputs.find(overtakenBy);
  if (newer === null) return await notFound(overtakenBy, inputs);
  const problem = problemOf(newer, { topic, overtakenBy, older: event });
  if (problem !== null) return wrong(problem, newer);
  const decider = { name, version: decision.head.decider.version };
  return compare(decision, { decider, input: { event, position: passedOver.position, overtakenBy } });
}

const wrong = (why: string, newer: LogRecord | null = null): Judgement => ({
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
  readonly topic: keyof typeof HEADS;
  readonly overtakenBy: MessageReference;
  readonly older: EventHead;
}

function problemOf(newer: LogRecord, { topic, overtakenBy, older }: Overtaking): string | null {
  const event = newerEvent(topic, newer);
  const place = placeText(overtakenBy);
  if (event === null) return `what lies at ${place} is nothing that can be decided on`;
  if (event.id !== overtakenBy.id) return `at ${place} lies ${event.id}, not ${overtakenBy.id}`;
  return overtakes(event, older)
    ? null
    : `${place} does not make it needless: it is not complete, not late enough, of another node or installation, or not about the same order`;
}

/** Many are overtaken by one, which is read once. */
const newerEvents = new WeakMap<LogRecord, { readonly event: NewerEvent | null }>();

function newerEvent(topic: keyof typeof HEADS, record: LogRecord): NewerEvent | null {
  const known = newerEvents.get(record);
  if (known !== undefined) return known.event;
  const parsed = parseRecord(topic, record);
  const event = parsed.ok ? headOf(parsed.event) : null;
  newerEvents.set(record, { event });
  return event;
}

/** Without its lists, which are not to be remembered. */
const headOf = (event: Inventory | DiskStats): NewerEvent =>
  event.type === 'fleetgc.node.inventory'
    ? { ...InventoryHead.parse(event), status: event.status }
    : DiskStatsHead.parse(event);

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
