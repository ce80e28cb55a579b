import type { OutgoingRecord } from '../../packages/log/port.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { counted } from '../../packages/text/counted.ts';
import { TOPICS } from '../../schemas/events/topics.ts';

/** Keys of one topic. A verb may write thousands; a few are named, and none that are hashes. */
interface Keys {
  readonly named: Set<string>;
  count: number;
}

const MOST_NAMED = 5;

/** What a command has written to the event log so far, to be reported when it is interrupted. */
export class WrittenRecords {
  /** By topic: acknowledged. */
  readonly #written = new Map<string, Keys>();
  /** By topic: sent, and not acknowledged. */
  readonly #open = new Map<string, Keys>();
  #isWriter = false;

  /** The verb is one that writes, so that it is worth saying that it has not. */
  expect(): void {
    this.#isWriter = true;
  }

  get isBegun(): boolean {
    return this.#written.size > 0;
  }

  /** `work` sends the records; while it has not ended well, they may be there or not. */
  async during<T>(records: readonly OutgoingRecord[], work: Promise<T>): Promise<T> {
    this.expect();
    note(this.#open, records);
    const result = await work;
    this.#open.clear();
    note(this.#written, records);
    return result;
  }

  /** The same error, with what was written before it, where the work was cut off. */
  told(error: unknown): unknown {
    if (!(error instanceof FleetGcError) || !this.#isWriter) return error;
    const isHalfWritten = this.isBegun && this.#open.size > 0;
    if (error.code !== 'INTERRUPTED' && !isHalfWritten) return error;
    const last = error.lines.at(-1) ?? '';
    const lines = [...error.lines.slice(0, -1), `${last.replace(/[.;]?$/, '')}. ${this.#text()}`];
    return new FleetGcError(error.code, lines, { cause: error.cause ?? error });
  }

  #text(): string {
    if (this.#written.size + this.#open.size === 0) return 'Nothing was written.';
    return [
      ...sentences('Written', this.#written),
      ...sentences('Not known whether written', this.#open),
      'Nothing else was written. Run the same command again: it is safe, and writes what is missing.',
    ].join(' ');
  }
}

function note(topics: Map<string, Keys>, records: readonly OutgoingRecord[]): void {
  for (const { topic, key } of records) {
    const keys = topics.get(topic) ?? { named: new Set<string>(), count: 0 };
    topics.set(topic, keys);
    keys.count += 1;
    if (topic !== TOPICS.policyVersions.name && keys.named.size < MOST_NAMED) keys.named.add(key);
  }
}

const sentences = (what: string, topics: ReadonlyMap<string, Keys>): readonly string[] =>
  [...topics].map(([topic, { named, count }]) => {
    const all = counted(count, 'record');
    if (named.size === 0) return `${what} to ${topic}: ${all}.`;
    return `${what} to ${topic}: ${[...named].join(', ')}${count > named.size ? ` (${all})` : ''}.`;
  });
