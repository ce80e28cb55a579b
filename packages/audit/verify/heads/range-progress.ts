import { NOTHING_HASHED, runningHash } from '../../../canonical/running-hash.ts';
import type { LogRecord } from '../../../log/port.ts';
import type { HeadedRange } from './decision-ranges.ts';

/** Of what was taken of a range, without and with one decision. */
export interface Hashes {
  readonly before: string;
  readonly after: string;
}

/** How far a range was met. */
export class RangeProgress {
  readonly range: HeadedRange;
  /** The number that comes next. */
  next: number;
  seen = 0;
  /** Of these, how many lie in the time that is verified. */
  asked = 0;
  /** Records with a number that was due before, and that is not known to have come. */
  late = 0;
  /** The number of the first that was met. */
  begun: number | null = null;
  first: LogRecord | null = null;
  last: LogRecord | null = null;
  #sha256 = NOTHING_HASHED;

  constructor(range: HeadedRange) {
    this.range = range;
    this.next = range.first;
  }

  take(number: number, record: LogRecord, isAsked: boolean): Hashes {
    const before = this.#sha256;
    this.#sha256 = runningHash(before, record);
    this.next = number + 1;
    this.seen += 1;
    if (isAsked) this.asked += 1;
    this.begun ??= number;
    this.first ??= record;
    this.last = record;
    return { before, after: this.#sha256 };
  }

  get end(): number {
    return this.range.first + this.range.records;
  }

  get isWhole(): boolean {
    return this.seen === this.range.records;
  }

  /** Whether what is missing may have come after others that follow it. */
  get isDisordered(): boolean {
    return !this.isWhole && this.late >= this.range.records - this.seen;
  }

  /** Whether its decisions, all of which are there, are those that were signed. */
  get isAsSigned(): boolean {
    return this.#sha256 === this.range.sha256;
  }

  /** Whether what is missing is its beginning, or all of it. */
  get lacksBeginningAlone(): boolean {
    return this.range.records - this.seen === (this.begun ?? this.end) - this.range.first;
  }

  /** Before which time, by the clock of its writer, the log had what is missing of its beginning. */
  get missingUntilMs(): number {
    return this.seen === 0 ? this.range.lastAtMs : this.range.firstAtMs;
  }

  /** The same of the first that was met. */
  get begunByMs(): number {
    return this.begun === this.range.first ? this.range.firstAtMs : this.range.lastAtMs;
  }
}
