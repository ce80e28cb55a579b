import { AnyDeciderName } from '../../../schemas/events/deciders.ts';
import { isOffsetText } from '../../../schemas/events/offset-text.ts';
import { TOPICS, type TopicName } from '../../../schemas/events/topics.ts';
import { sha256Hex } from '../../canonical/ids.ts';
import type { EventLog, LogReader, LogRecord, ReadEvent } from '../../log/port.ts';
import { type ParsedRecord, parseJson } from '../../records/parse/parse-record.ts';
import { firstRecord } from '../../records/read-log.ts';
import type { FrozenDecider } from '../deciders/deciders.ts';
import type { RecordedDecision } from '../events/recorded-decision.ts';
import { SETTLED_MS } from './coverage.ts';

/** What a decision names as its input, where it may lie. */
interface InputReference {
  readonly topic: string;
  readonly partition: number;
  readonly offset: string;
}

/** Who decides on what; of all results, on reclaims that go on. */
export const DECIDES_ON: Readonly<Record<AnyDeciderName, readonly TopicName[]>> = {
  'container-gc': [TOPICS.inventory.name],
  'image-gc': [TOPICS.inventory.name],
  pressure: [TOPICS.diskStats.name, TOPICS.results.name],
  'graph-gc': [TOPICS.clusterOwnership.name],
  'pod-gc': [TOPICS.clusterPods.name],
  'expiry-gc': [TOPICS.clusterExpiry.name],
};

/** Of a decider that nobody knows, nobody knows either on which of the topics it decides: `null`. */
export function decidesOn(decider: string, topic: TopicName): boolean | null {
  const known = AnyDeciderName.safeParse(decider).data;
  return known === undefined ? null : DECIDES_ON[known].includes(topic);
}

const INPUT_TOPICS: readonly TopicName[] = Object.values(DECIDES_ON).flat();

/** The topic of that name, when anybody decides on its messages. */
const inputTopicOf = (name: string): TopicName | undefined => INPUT_TOPICS.find((one) => one === name);

/**
 * Of a decider that lags further behind than this, each message is read again.
 * @limit Message cache of each thread of `audit verify`.
 */
const KEPT_BYTES = 4 * 1024 * 1024;

/** The messages of one partition that are decided on: decisions follow them at some distance. */
export class Inputs {
  readonly #partition: number;
  readonly #kept: RecordKeeper;
  readonly #again: RecordsReadAgain;
  readonly #messages = new ParsedMessages();
  readonly #hashes = new WeakMap<LogRecord, string>();

  constructor(
    log: LogReader,
    partition: number,
    { signal, keptBytes = KEPT_BYTES }: { readonly signal: AbortSignal; readonly keptBytes?: number },
  ) {
    this.#partition = partition;
    this.#kept = new RecordKeeper(keptBytes);
    this.#again = new RecordsReadAgain(log, partition, signal);
  }

  /** A message of the partition in hand, as it comes by. */
  keep(record: LogRecord): void {
    this.#again.saw(record);
    this.#kept.put(record);
  }

  /** Kept, or read once more from the log; `null` when it is not there. */
  async find(input: InputReference): Promise<LogRecord | null> {
    const topic = inputTopicOf(input.topic);
    if (topic === undefined || input.partition !== this.#partition || !isOffsetText(input.offset))
      return null;
    const offset = BigInt(input.offset);
    return this.#kept.get(topic, offset) ?? (await this.#again.find(topic, offset));
  }

  /** Whether anything lies on the log behind a place where nothing was found. */
  async hasLater({ topic, offset }: InputReference): Promise<boolean> {
    const name = inputTopicOf(topic);
    return name !== undefined && (await this.#again.hasAfter(name, BigInt(offset)));
  }

  /** Whether the log has messages of that topic, and all of them lie before a place where nothing was found. */
  async isPastEnd(input: InputReference): Promise<boolean> {
    const topic = inputTopicOf(input.topic);
    const first = topic === undefined ? null : await this.#again.oldest(topic);
    return first !== null && first.offset <= BigInt(input.offset) && !(await this.hasLater(input));
  }

  /**
   * Whether the very first message of that topic was logged after this time, so that what was decided on by then was on another topic
   * of this name, which was deleted. Where retention took the first one nobody can tell.
   */
  async beganAfter(name: string, timestampMs: number): Promise<boolean> {
    const topic = inputTopicOf(name);
    const first = topic === undefined ? null : await this.#again.oldest(topic);
    return first !== null && first.offset === 0n && first.timestampMs > timestampMs;
  }

  /** Whether the log got any message of that topic at this time or later. */
  async hasSince(name: string, timestampMs: number): Promise<boolean> {
    const topic = inputTopicOf(name);
    return topic !== undefined && (await this.#again.hasSince(topic, timestampMs));
  }

  /** Of the bytes of a message; several deciders ask for the same. */
  sha256Of(input: LogRecord): string {
    const sha256 = this.#hashes.get(input) ?? sha256Hex(input.value ?? '');
    this.#hashes.set(input, sha256);
    return sha256;
  }

  /** What it says as JSON; the last ones are parsed once, however many ask. */
  messageOf(input: LogRecord): ParsedRecord<unknown> {
    return this.#messages.of(input).parsed;
  }

  /** What a decider reads of it. Throws `EVENT_REJECTED` where it does not read it. */
  readBy({ reader, read }: Pick<FrozenDecider, 'reader' | 'read'>, input: LogRecord): unknown {
    const { parsed, readings } = this.#messages.of(input);
    const event = readings.get(reader) ?? read(parsed.ok ? parsed.event : undefined);
    readings.set(reader, event);
    return event;
  }

  async close(): Promise<void> {
    await this.#again.close();
  }
}

/**
 * Messages of so many bytes are kept parsed too, and the last two however large they are: decisions follow them closely, and
 * what is kept longer is copied by each collection of garbage.
 */
const PARSED_BYTES = 64 * 1024;
const FEWEST_PARSED = 2;

interface Message {
  readonly parsed: ParsedRecord<unknown>;
  /** By reader. */
  readonly readings: Map<string, unknown>;
}

class ParsedMessages {
  readonly #messages = new Map<LogRecord, Message>();
  #bytes = 0;

  of(record: LogRecord): Message {
    return this.#messages.get(record) ?? this.#parse(record);
  }

  #parse(record: LogRecord): Message {
    const message = { parsed: parseJson(record.topic, record.value), readings: new Map() };
    this.#messages.set(record, message);
    this.#bytes += record.value?.length ?? 0;
    for (const [oldest] of this.#messages) {
      if (this.#bytes <= PARSED_BYTES || this.#messages.size <= FEWEST_PARSED) break;
      this.#messages.delete(oldest);
      this.#bytes -= oldest.value?.length ?? 0;
    }
    return message;
  }
}

/** Where a decision was read. */
export interface ReadFromLog {
  readonly inputs: Inputs;
  /** Whether retention deletes from this log; from an archive nothing goes. */
  readonly deletes: boolean;
}

/** Why an input that is not there cannot have been there, in half a sentence; `null` where retention may have taken it. */
export async function whyImpossible(decision: RecordedDecision, from: ReadFromLog): Promise<string | null> {
  const { record, head } = decision;
  const { input, decider } = head;
  const topic = inputTopicOf(input.topic);
  if (topic === undefined || decidesOn(decider.name, topic) === false)
    return `${decider.name} decides on nothing of ${input.topic}`;
  if (input.partition !== record.partition) return `its node is in partition ${record.partition}`;
  if (!isOffsetText(input.offset)) return 'that is no offset';
  if (await from.inputs.beganAfter(topic, record.timestampMs)) return null;
  // Retention takes the older first, and a decision is written after its input.
  if (!(await from.inputs.isPastEnd(input)) || !(await wouldBeThere(decision, topic, from))) return null;
  return 'nothing lies there or behind it, and older messages are there';
}

const KEPT_AS_DECISIONS: readonly TopicName[] = [
  TOPICS.inventory.name,
  TOPICS.clusterOwnership.name,
  TOPICS.clusterExpiry.name,
  TOPICS.clusterPods.name,
];

/** What is kept for a shorter time than decisions may be gone when an archive comes to it, unless later ones were archived. */
async function wouldBeThere(
  { record }: RecordedDecision,
  topic: TopicName,
  { inputs, deletes }: ReadFromLog,
): Promise<boolean> {
  return deletes || KEPT_AS_DECISIONS.includes(topic)
    ? true
    : await inputs.hasSince(topic, record.timestampMs + SETTLED_MS);
}

/** A decider passes over no more than what it takes from the log at a time. */
const PASSED_BYTES = 4 * 1024 * 1024;
/** Further ahead than this, a new reading is cheaper than reading on. */
const MOST_PASSED_OVER = 1_000n;
/** Of messages that were passed over, and of the newer ones that lie far behind them. */
const MOST_READINGS = 2;

interface Reading {
  readonly topic: TopicName;
  readonly events: AsyncIterator<ReadEvent>;
  /** The next record that it gives, at the earliest. */
  next: bigint;
}

const goesOn = ({ topic, next }: Reading, wanted: TopicName, offset: bigint): boolean =>
  topic === wanted && next <= offset && offset - next < MOST_PASSED_OVER;

/** Where the records begin that a topic has in the partition. */
type Oldest = Pick<LogRecord, 'offset' | 'timestampMs'>;

/** Reads records of one partition once more, in readings that go on where they can. */
export class RecordsReadAgain {
  readonly #log: LogReader;
  readonly #partition: number;
  readonly #signal: AbortSignal;
  /** What was read on the way to another one: overtaken messages and the newer one are asked for in turn. */
  readonly #passed = new RecordKeeper(PASSED_BYTES);
  readonly #oldest = new Map<TopicName, Oldest | null>();
  /** By topic the highest that was seen: what is missing before it needs no reading of its own. */
  readonly #highest = new Map<string, bigint>();
  /** The one used last comes last. */
  #readings: readonly Reading[] = [];

  constructor(log: LogReader, partition: number, signal: AbortSignal) {
    this.#log = log;
    this.#partition = partition;
    this.#signal = signal;
  }

  /** A record came by. */
  saw({ topic, offset }: LogRecord): void {
    if (offset > (this.#highest.get(topic) ?? -1n)) this.#highest.set(topic, offset);
  }

  /** `null` where nothing lies. */
  async find(topic: TopicName, offset: bigint): Promise<LogRecord | null> {
    const passed = this.#passed.get(topic, offset);
    if (passed !== undefined) return passed;
    const first = await this.oldest(topic);
    if (first === null || offset < first.offset) return null;
    return await this.#readOn(await this.#readingAt(topic, offset), offset);
  }

  async oldest(topic: TopicName): Promise<Oldest | null> {
    const known = this.#oldest.get(topic);
    if (known !== undefined) return known;
    const first = await this.#first(topic, 'earliest');
    const found = first && { offset: first.offset, timestampMs: first.timestampMs };
    this.#oldest.set(topic, found);
    return found;
  }

  async hasAfter(topic: TopicName, offset: bigint): Promise<boolean> {
    if ((this.#highest.get(topic) ?? -1n) > offset) return true;
    return (await this.#first(topic, { offset: offset + 1n })) !== null;
  }

  async hasSince(topic: TopicName, timestampMs: number): Promise<boolean> {
    return (await this.#first(topic, { timestampMs })) !== null;
  }

  async close(): Promise<void> {
    await this.#closeAllBut(0);
  }

  async #first(topic: TopicName, from: Parameters<EventLog['read']>[0]['from']): Promise<LogRecord | null> {
    return await firstRecord(this.#log, { topic, partition: this.#partition, from }, this.#signal);
  }

  async #readingAt(topic: TopicName, offset: bigint): Promise<Reading> {
    const [known] = this.#readings
      .filter((one) => goesOn(one, topic, offset))
      .toSorted((a, b) => Number(b.next - a.next));
    const found = known ?? this.#begin(topic, offset);
    this.#readings = [...this.#readings.filter((one) => one !== found), found];
    await this.#closeAllBut(MOST_READINGS);
    return found;
  }

  #begin(topic: TopicName, offset: bigint): Reading {
    const request = { topic, partition: this.#partition, from: { offset }, to: 'end' } as const;
    return { topic, events: this.#log.read(request, this.#signal)[Symbol.asyncIterator](), next: offset };
  }

  async #closeAllBut(kept: number): Promise<void> {
    const closed = this.#readings.slice(0, Math.max(0, this.#readings.length - kept));
    this.#readings = this.#readings.slice(closed.length);
    for (const { events } of closed) await events.return?.();
  }

  async #readOn(reading: Reading, offset: bigint): Promise<LogRecord | null> {
    while (reading.next <= offset) {
      const { done, value } = await reading.events.next();
      if (done) return null;
      if (value.kind !== 'record') continue;
      reading.next = value.record.offset + 1n;
      this.saw(value.record);
      this.#passed.put(value.record);
      if (value.record.offset === offset) return value.record;
    }
    return null;
  }
}

const nameOf = (topic: string, offset: bigint): string => `${topic}@${offset}`;

/** Keeps the last records that were put in, as many as weigh so much. */
export class RecordKeeper {
  readonly #mostBytes: number;
  readonly #kept = new Map<string, LogRecord>();
  #bytes = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  put(record: LogRecord): void {
    const name = nameOf(record.topic, record.offset);
    this.#drop(name);
    this.#kept.set(name, record);
    this.#bytes += record.value?.length ?? 0;
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= this.#mostBytes) return;
      this.#drop(oldest);
    }
  }

  get(topic: string, offset: bigint): LogRecord | undefined {
    return this.#kept.get(nameOf(topic, offset));
  }

  #drop(name: string): void {
    this.#bytes -= this.#kept.get(name)?.value?.length ?? 0;
    this.#kept.delete(name);
  }
}
