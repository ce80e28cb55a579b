import type { FleetGcError } from '../../../process/errors.ts';
import { recordBytes } from '../../limits.ts';
import type { LogRecord, ReadEvent } from '../../port.ts';

const ROOM_BYTES = 4 * 1024 * 1024;

/** Records between the fetcher and the reader. */
export class ReadBuffer {
  #records: LogRecord[] = [];
  #bytes = 0;
  /** Ends the reading. */
  #failure: FleetGcError | null = null;
  #wake: () => void = () => undefined;
  /** Whether the reader was told that it has caught up. */
  #isMarked = false;
  #answers = 0;
  /** What brokers, or the way to them, answered last, where that passes by itself. */
  failure: FleetGcError | null = null;

  get isMarked(): boolean {
    return this.#isMarked;
  }

  get isEmpty(): boolean {
    return this.#records.length === 0;
  }

  /** Grows with every answer of a broker. */
  get answers(): number {
    return this.#answers;
  }

  hasRoom(): boolean {
    return this.#bytes < ROOM_BYTES;
  }

  deliver(records: readonly LogRecord[]): void {
    // One by one: a batch may have hundreds of thousands, which are too many arguments.
    for (const record of records) {
      this.#records.push(record);
      this.#bytes += recordBytes(record);
    }
  }

  answered(): void {
    this.#answers += 1;
    this.#wake();
  }

  /** The reading ends with this, at the next look of the reader. */
  fail(failure: FleetGcError): void {
    this.#failure = failure;
  }

  requireWell(): void {
    if (this.#failure !== null) throw this.#failure;
  }

  /** What is at hand, and the mark when all that was there at the start has been given. */
  *events(isCaughtUp: () => boolean): Generator<ReadEvent, void> {
    const reached = !this.#isMarked && isCaughtUp();
    for (const record of this.#take()) yield { kind: 'record', record };
    if (!reached) return;
    this.#isMarked = true;
    yield { kind: 'caught-up' };
  }

  nextAnswer(seen: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.#answers !== seen) resolve();
      else this.#wake = resolve;
    });
  }

  #take(): readonly LogRecord[] {
    const records = this.#records;
    this.#records = [];
    this.#bytes = 0;
    return records;
  }
}
