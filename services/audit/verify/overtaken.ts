import type { Decision, MessageReference } from '../../../schemas/decision.ts';
import { InventoryHead } from '../../../schemas/inventory.ts';
import { TOPICS } from '../../../schemas/topics.ts';
import { type NewerInventory, overtakes } from '../../shared/decision/overtaking.ts';
import type { LogRecord } from '../../shared/event-log/port.ts';
import type { InputPosition } from '../../shared/handler.ts';
import { type OvertakenInput, overtakenHandler } from '../../shared/overtaken-record.ts';
import { parseInventoryHead, parseRecord } from '../../shared/parse-record.ts';
import { placeText } from './findings.ts';
import type { Inputs } from './inputs.ts';
import type { RecordedDecision } from './recorded-decision.ts';
import { firstDifference, sameJson } from './same-json.ts';

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

/** Who passes over inventories. */
const DECIDERS = ['container-gc', 'image-gc'] as const satisfies readonly Decision['decider']['name'][];

/** Looks at both messages, and makes the record once more. */
export async function judgeOvertaken(
  decision: RecordedDecision,
  passedOver: PassedOver,
  inputs: Inputs,
): Promise<Judgement> {
  const { overtakenBy } = decision.head;
  const name = DECIDERS.find((one) => one === decision.head.decider.name);
  const event = parseInventoryHead(passedOver.input);
  const isInventory = passedOver.input.topic === TOPICS.inventory.name && event !== null;
  if (name === undefined || !isInventory) return wrong('its decider passes over no such message');
  if (overtakenBy === undefined) return wrong('it does not say by what');
  if (!liesAfter(overtakenBy, passedOver.position))
    return wrong(`${placeText(overtakenBy)} does not lie after it in its partition`);
  const newer = await inputs.find(overtakenBy);
  if (newer === null) return await notFound(overtakenBy, inputs);
  const problem = problemOf(newer, { overtakenBy, older: event });
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
  readonly overtakenBy: MessageReference;
  readonly older: InventoryHead;
}

function problemOf(newer: LogRecord, { overtakenBy, older }: Overtaking): string | null {
  const event = newerInventory(newer);
  const place = placeText(overtakenBy);
  if (event === null) return `what lies at ${place} is no inventory that can be decided on`;
  if (event.id !== overtakenBy.id) return `at ${place} lies ${event.id}, not ${overtakenBy.id}`;
  return overtakes(event, older)
    ? null
    : `${place} does not make it needless: it is not complete, not later, of another node or installation, or not about the same order`;
}

/** Many are overtaken by one, which is read once. */
const newerInventories = new WeakMap<LogRecord, { readonly event: NewerInventory | null }>();

function newerInventory(record: LogRecord): NewerInventory | null {
  const known = newerInventories.get(record);
  if (known !== undefined) return known.event;
  const parsed = parseRecord('inventory', record);
  const event = parsed.ok ? { ...InventoryHead.parse(parsed.event), status: parsed.event.status } : null;
  newerInventories.set(record, { event });
  return event;
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
