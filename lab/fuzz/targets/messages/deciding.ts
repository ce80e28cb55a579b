import type { LogRecord, OutgoingRecord } from '../../../../packages/log/port.ts';
import { decide, type Handling } from '../../../../packages/records/decide.ts';
import { type ParseRecord, parseBelieved } from '../../../../packages/records/parse/parse-believed.ts';
import { parseRecord, topicIdOf } from '../../../../packages/records/parse/parse-record.ts';
import { createPublisher, type Publisher } from '../../../../packages/records/publisher.ts';
import { UNSIGNED } from '../../../../packages/records/trust/signer.ts';
import type { TopicId } from '../../../../schemas/events/topics.ts';
import { countedIds, onLog } from '../../../../test/support/logs/log-record.ts';
import { madeUpPositions } from '../../../../test/support/logs/made-up-positions.ts';
import type { Outcome } from '../../engine/target.ts';
import { isToBeRefused, type Signatories, TAKEN_AT_MS } from './claims.ts';
import type { MadeMessage } from './message.ts';
import type { ReadMessage } from './topic-readers.ts';

export const SILENT_PUBLISHER: Publisher = createPublisher({
  signer: UNSIGNED,
  log: { publish: async (records) => madeUpPositions(records) },
  source: '/fleetgc/fuzz',
  now: () => TAKEN_AT_MS,
  ids: countedIds(),
});

/** What is wrong with what a service would publish, a sentence; `null` where nothing is. */
type Judge = (outputs: readonly OutgoingRecord[], record: LogRecord) => string | null;

export interface Deciding extends Omit<Handling, 'publisher'> {
  readonly judge?: Judge;
}

/** A service that decides on the messages of a topic, from the record to what it would publish. */
export const decidingReader =
  (topic: TopicId, deciding: (signatories: Signatories) => Deciding) =>
  (signatories: Signatories): ReadMessage => {
    const { judge = readable, ...handlers } = deciding(signatories);
    const handling = { ...handlers, publisher: SILENT_PUBLISHER };
    const parse = parseBelieved(signatories.trust);
    return (message) => decided(topic, message, { handling, parse, judge });
  };

interface Parts {
  readonly handling: Handling;
  readonly parse: ParseRecord;
  readonly judge: Judge;
}

async function decided(
  topic: TopicId,
  { record, claim }: MadeMessage,
  { handling, parse, judge }: Parts,
): Promise<Outcome> {
  const parsed = parse(topic, record);
  const { failure, stages } = await decide(topic, { kind: 'read', record, parsed }, handling);
  if (failure?.error !== undefined) throw failure.error.cause ?? failure.error;
  if (parsed.ok && isToBeRefused(claim, topic)) return effect(`a message that is ${claim} is read`);
  const outputs = stages.flat();
  return { passed: parsed.ok, effect: judge(outputs, record) ?? readable(outputs) };
}

const effect = (what: string): Outcome => ({ passed: true, effect: what });

/** What a service publishes, others have to read. */
export function readable(outputs: readonly OutgoingRecord[]): string | null {
  for (const output of outputs) {
    const parsed = parseRecord(topicIdOf(output.topic), onLog(output));
    if (!parsed.ok) return `published what nobody can read: ${parsed.rejection.message}`;
  }
  return null;
}

/** Orders and commands go to the node that the message is from. */
export const toTheSameNode: Judge = (outputs, { key }) =>
  outputs.every((output) => output.key === key) ? null : 'published something about another node';
