import { z } from 'zod';
import type { LogRecord, OutgoingRecord } from '../../../packages/log/port.ts';
import { parseValue, topicIdOf } from '../../../packages/records/parse/parse-record.ts';
import type { TopicName } from '../../../schemas/events/topics.ts';
import { memoizedParse } from '../memoized-parse.ts';

/** A record of the log as one text, with its topic before it. */
const parseEvent = memoizedParse(
  z.tuple([z.string(), z.json()]).transform(([topic, value]) => {
    const parsed = parseValue(topicIdOf(topicNamed(topic)), value);
    return parsed.ok ? parsed.event : null;
  }),
);

const NAMES: readonly TopicName[] = ['gc.node.decisions', 'gc.node.commands', 'gc.policy-versions'];

function topicNamed(name: string): TopicName {
  const found = NAMES.find((one) => one === name);
  if (found === undefined) throw new Error(`a decision service publishes nothing on ${name}`);
  return found;
}

type Published = NonNullable<ReturnType<typeof parseEvent>>;

/** The log as it is outside of both replicas: one partition of inputs, who has it, and all that was published. */
export class Partition {
  /** The next record that is to be read by whoever gets the partition. */
  committed = 0;
  owner: string;
  readonly inputs: readonly LogRecord[];
  /** How many of the inputs are there yet. */
  arrived: number;
  /** By id, as they came first. */
  readonly #published = new Map<string, string>();
  #wrong: string | null = null;

  constructor(inputs: readonly LogRecord[], arrived: number, owner: string) {
    this.inputs = inputs;
    this.arrived = arrived;
    this.owner = owner;
  }

  get wrong(): string | null {
    return this.#wrong;
  }

  append(records: readonly OutgoingRecord[]): void {
    for (const { topic, value } of records) this.#append(`[${JSON.stringify(topic)},${value}]`);
  }

  commit(offset: number): void {
    this.committed = offset;
    this.#tellFirst(this.inputs.slice(0, offset), 'committed before what follows from it was published');
    if (offset > this.arrived) this.#tell('committed what nobody has read');
  }

  wrongAtRest(): string | null {
    this.#tellFirst(this.inputs, 'an input ended without its decision');
    if (this.committed !== this.inputs.length) this.#tell('an input is left');
    return this.#wrong;
  }

  key(): string {
    return [this.committed, this.owner, this.arrived, ...[...this.#published.values()].toSorted()].join();
  }

  #append(text: string): void {
    const event = parseEvent(text);
    if (event === null) {
      this.#tell('published what nobody can read');
      return;
    }
    const before = this.#published.get(event.id);
    if (before !== undefined && before !== text) this.#tell('two outputs with one id differ');
    this.#published.set(event.id, before ?? text);
    if (event.type === 'fleetgc.node.command' && !this.#published.has(event.decisionId))
      this.#tell('a command came onto the log before its decision');
    if (event.type === 'fleetgc.node.decision' && !this.#isSetKnown(event.policySetHash))
      this.#tell('a decision came onto the log before the set of policies that it was made under');
  }

  #isSetKnown(hash: string): boolean {
    return this.#events().some((one) => one.type === 'fleetgc.policy-set' && one.hash === hash);
  }

  /** An input has ended when one of its decisions is there, with all that the decision names. */
  #tellFirst(inputs: readonly LogRecord[], problem: string): void {
    const ended = new Set(
      this.#events().flatMap((one) =>
        one.type === 'fleetgc.node.decision' && one.outputIds.every((id) => this.#published.has(id))
          ? [one.input.offset]
          : [],
      ),
    );
    if (inputs.some(({ offset }) => !ended.has(String(offset)))) this.#tell(problem);
  }

  #events(): readonly Published[] {
    return [...this.#published.values()].flatMap((text) => parseEvent(text) ?? []);
  }

  #tell(problem: string): void {
    this.#wrong ??= problem;
  }
}
