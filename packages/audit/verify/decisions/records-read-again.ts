import type { TopicName } from '../../../../schemas/events/topics.ts';
import type { EventLog, LogRecord, ReadEvent } from '../../../log/port.ts';
import { firstRecord } from '../../../records/read-log.ts';

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
  readonly #log: Pick<EventLog, 'read'>;
  readonly #partition: number;
  readonly #signal: AbortSignal;
  /** What was read on the way to another one: overtaken messages and the newer one are asked for in turn. */
  readonly #passed = new RecordKeeper(PASSED_BYTES);
  readonly #oldest = new Map<TopicName, Oldest | null>();
  /** By topic the highest that was seen: what is missing before it needs no reading of its own. */
  readonly #highest = new Map<string, bigint>();
  /** The one used last comes last. */
  #readings: readonly Reading[] = [];

  constructor(log: Pick<EventLog, 'read'>, partition: number, signal: AbortSignal) {
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
