import { sha256Hex } from '../../../../packages/canonical/ids.ts';
import type { EventLog, LogRecord, ReadEvent } from '../../../../packages/event-log/port.ts';
import { type ParsedRecord, parseJson } from '../../../../packages/pipeline/parse/parse-record.ts';
import { firstRecord } from '../../../../packages/pipeline/read-log.ts';
import { TOPICS, type TopicName } from '../../../../schemas/events/topics.ts';
import type { FrozenDecider } from '../../deciders/deciders.ts';

/** What a decision names as its input, where it may lie. */
export interface InputReference {
  readonly topic: string;
  readonly partition: number;
  readonly offset: string;
}

/** The messages that are decided on: decisions follow them at some distance. */
export interface Inputs {
  /** A message of the partition in hand, as it comes by. */
  keep(record: LogRecord): void;
  /** Kept, or read once more from the log; `null` when it is not there. */
  find(input: InputReference): Promise<LogRecord | null>;
  /** Whether anything lies on the log behind a place where nothing was found. */
  hasLater(input: InputReference): Promise<boolean>;
  /** Whether the log has messages of that topic, and all of them lie before a place where nothing was found. */
  isPastEnd(input: InputReference): Promise<boolean>;
  /**
   * Whether the very first message of that topic was logged after this time, so that what was decided on by then was on another topic
   * of this name, which was deleted. Where retention took the first one nobody can tell.
   */
  beganAfter(topic: string, timestampMs: number): Promise<boolean>;
  /** Whether the log got any message of that topic at this time or later. */
  hasSince(topic: string, timestampMs: number): Promise<boolean>;
  /** Of the bytes of a message; several deciders ask for the same. */
  sha256Of(input: LogRecord): string;
  /** What it says as JSON; the last ones are parsed once, however many ask. */
  messageOf(input: LogRecord): ParsedRecord<unknown>;
  /** What a decider reads of it. Throws `EVENT_REJECTED` where it does not read it. */
  readBy(decider: Pick<FrozenDecider, 'reader' | 'read'>, input: LogRecord): unknown;
  close(): Promise<void>;
}

const INPUT_TOPICS: readonly TopicName[] = [
  TOPICS.inventory.name,
  TOPICS.diskStats.name,
  TOPICS.results.name,
];

/** The topic of that name, when anybody decides on its messages. */
export const inputTopicOf = (name: string): TopicName | undefined => INPUT_TOPICS.find((one) => one === name);

/** As every service writes it. */
export const isOffset = (text: string): boolean => /^(0|[1-9]\d{0,17})$/.test(text);

/** Of a decider that lags further behind than this, each message is read again. */
const KEPT_BYTES = 4 * 1024 * 1024;
/** A decider passes over no more than what it takes from the log at a time. */
const PASSED_BYTES = 4 * 1024 * 1024;
/**
 * Messages of so many bytes are kept parsed too, and the last two however large they are: decisions follow them closely, and
 * what is kept longer is copied by each collection of garbage.
 */
const PARSED_BYTES = 64 * 1024;
const FEWEST_PARSED = 2;
/** Further ahead than this, a new reading is cheaper than reading on. */
const MOST_PASSED_OVER = 1_000n;

/** Of messages that were passed over, and of the newer ones that lie far behind them. */
const MOST_READINGS = 2;

interface Message {
  readonly parsed: ParsedRecord<unknown>;
  /** By reader. */
  readonly readings: Map<string, unknown>;
}

interface Reading {
  readonly topic: TopicName;
  readonly events: AsyncIterator<ReadEvent>;
  /** The next record that it gives, at the earliest. */
  next: bigint;
}

const goesOn = ({ topic, next }: Reading, wanted: TopicName, offset: bigint): boolean =>
  topic === wanted && next <= offset && offset - next < MOST_PASSED_OVER;

export function createInputs(
  log: Pick<EventLog, 'read'>,
  partition: number,
  signal: AbortSignal,
  keptBytes: number = KEPT_BYTES,
): Inputs {
  const kept = createKeeper(keptBytes);
  /** What was read again on the way to another one: overtaken messages and the newer one are asked for in turn. */
  const passed = createKeeper(PASSED_BYTES);
  const hashes = new WeakMap<LogRecord, string>();
  const messages = new Map<LogRecord, Message>();
  const oldest = new Map<TopicName, Pick<LogRecord, 'offset' | 'timestampMs'> | null>();
  /** The highest that came by or was read again: what is missing before it needs no reading of its own. */
  const highest = new Map<string, bigint>();
  let parsedBytes = 0;
  /** The one used last comes last. */
  let readings: readonly Reading[] = [];

  const noteOffset = ({ topic, offset }: LogRecord): void => {
    if (offset > (highest.get(topic) ?? -1n)) highest.set(topic, offset);
  };

  const close = async (keep = 0): Promise<void> => {
    const closed = readings.slice(0, Math.max(0, readings.length - keep));
    readings = readings.slice(closed.length);
    for (const { events } of closed) await events.return?.();
  };

  const oldestOf = async (topic: TopicName): Promise<Pick<LogRecord, 'offset' | 'timestampMs'> | null> => {
    const known = oldest.get(topic);
    if (known !== undefined) return known;
    const first = await firstRecord(log, { topic, partition, from: 'earliest' }, signal);
    const found = first && { offset: first.offset, timestampMs: first.timestampMs };
    oldest.set(topic, found);
    return found;
  };

  const readingAt = async (topic: TopicName, offset: bigint): Promise<Reading> => {
    const [known] = readings
      .filter((one) => goesOn(one, topic, offset))
      .toSorted((a, b) => Number(b.next - a.next));
    const events = () => log.read({ topic, partition, from: { offset }, to: 'end' }, signal);
    const found = known ?? { topic, events: events()[Symbol.asyncIterator](), next: offset };
    readings = [...readings.filter((one) => one !== found), found];
    await close(MOST_READINGS);
    return found;
  };

  const lookUp = async (topic: TopicName, offset: bigint): Promise<LogRecord | null> => {
    const first = await oldestOf(topic);
    if (first === null || offset < first.offset) return null;
    return await readOn(await readingAt(topic, offset), offset, (record) => {
      noteOffset(record);
      passed.put(record);
    });
  };

  const hasLater = async ({ topic, offset }: InputReference): Promise<boolean> => {
    const name = inputTopicOf(topic);
    if (name === undefined) return false;
    if ((highest.get(name) ?? -1n) > BigInt(offset)) return true;
    const from = { offset: BigInt(offset) + 1n };
    return (await firstRecord(log, { topic: name, partition, from }, signal)) !== null;
  };

  const parse = (record: LogRecord): Message => {
    const message = { parsed: parseJson(record.topic, record.value), readings: new Map() };
    messages.set(record, message);
    parsedBytes += record.value?.length ?? 0;
    for (const [oldest] of messages) {
      if (parsedBytes <= PARSED_BYTES || messages.size <= FEWEST_PARSED) break;
      messages.delete(oldest);
      parsedBytes -= oldest.value?.length ?? 0;
    }
    return message;
  };

  return {
    keep: (record) => {
      noteOffset(record);
      kept.put(record);
    },
    find: async (input) => {
      const topic = inputTopicOf(input.topic);
      if (topic === undefined || input.partition !== partition || !/^\d{1,18}$/.test(input.offset))
        return null;
      return (
        kept.get(topic, input.offset) ??
        passed.get(topic, input.offset) ??
        (await lookUp(topic, BigInt(input.offset)))
      );
    },
    hasLater,
    isPastEnd: async (input) => {
      const topic = inputTopicOf(input.topic);
      const first = topic === undefined ? null : await oldestOf(topic);
      return first !== null && first.offset <= BigInt(input.offset) && !(await hasLater(input));
    },
    beganAfter: async (name, timestampMs) => {
      const topic = inputTopicOf(name);
      const first = topic === undefined ? null : await oldestOf(topic);
      return first !== null && first.offset === 0n && first.timestampMs > timestampMs;
    },
    hasSince: async (name, timestampMs) => {
      const topic = inputTopicOf(name);
      if (topic === undefined) return false;
      return (await firstRecord(log, { topic, partition, from: { timestampMs } }, signal)) !== null;
    },
    sha256Of: (input) => {
      const sha256 = hashes.get(input) ?? sha256Hex(input.value ?? '');
      hashes.set(input, sha256);
      return sha256;
    },
    messageOf: (input) => (messages.get(input) ?? parse(input)).parsed,
    readBy: ({ reader, read }, input) => {
      const { parsed, readings } = messages.get(input) ?? parse(input);
      const event = readings.get(reader) ?? read(parsed.ok ? parsed.event : undefined);
      readings.set(reader, event);
      return event;
    },
    close: () => close(),
  };
}

const nameOf = (topic: string, offset: string): string => `${topic}@${offset}`;

/** Keeps the last records that were put in, as many as weigh so much. */
function createKeeper(mostBytes: number) {
  const kept = new Map<string, LogRecord>();
  let bytes = 0;
  const drop = (name: string): void => {
    bytes -= kept.get(name)?.value?.length ?? 0;
    kept.delete(name);
  };
  return {
    put: (record: LogRecord): void => {
      const name = nameOf(record.topic, String(record.offset));
      drop(name);
      kept.set(name, record);
      bytes += record.value?.length ?? 0;
      for (const oldest of kept.keys()) {
        if (bytes <= mostBytes) return;
        drop(oldest);
      }
    },
    get: (topic: string, offset: string): LogRecord | undefined => kept.get(nameOf(topic, offset)),
  };
}

async function readOn(
  reading: Reading,
  offset: bigint,
  onPassed: (record: LogRecord) => void,
): Promise<LogRecord | null> {
  while (reading.next <= offset) {
    const { done, value } = await reading.events.next();
    if (done) return null;
    if (value.kind !== 'record') continue;
    reading.next = value.record.offset + 1n;
    onPassed(value.record);
    if (value.record.offset === offset) return value.record;
  }
  return null;
}
