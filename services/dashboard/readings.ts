import { setImmediate } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { NameIndex } from '../../packages/archive/names.ts';
import type { LogReader } from '../../packages/log/port.ts';
import { toFleetGcError } from '../../packages/process/errors.ts';
import { SummedOnce } from '../../packages/read-model/images.ts';
import type { AuditReport } from '../../schemas/reports/audit-report.ts';
import type { Explanation } from '../../schemas/reports/explanation.ts';

/** What is read of the log itself and may take minutes, one of each at a time; and the words for what was found. */
export class Readings implements Disposable {
  readonly reports: LongReadings<AuditReport>;
  readonly lives: LongReadings<Explanation>;
  readonly images: SummedOnce;

  constructor(sources: { readonly now: () => number; readonly logger: Logger }) {
    this.reports = new LongReadings(sources);
    this.lives = new LongReadings(sources);
    this.images = new SummedOnce(sources.now);
  }

  [Symbol.dispose](): void {
    this.reports[Symbol.dispose]();
    this.lives[Symbol.dispose]();
  }
}

/** More wait for nothing: whoever asks later is told so. */
const MOST_WAITING = 8;
/** So that one person cannot have all the places. */
const MOST_WAITING_OF_A_PERSON = 2;
/** Each may be as large as the fleet. */
const MOST_KEPT = 3;
const KEPT_MS = 600_000;
/** A page that is not seen asks once a minute. */
const LEFT_AFTER_MS = 90_000;
/** Somebody else may look at the same, and asks within a second or two. */
const LEFT_SOON_MS = 3_000;
const LOOK_EVERY_MS = 1_000;

/** How far a reading is, in parts of the log. */
interface ReadSoFar {
  readonly done: number;
  readonly of: number;
  readonly records: number;
}

/** What became of a question. */
type AskedReading<Value> =
  | { readonly state: 'waiting'; readonly ahead: number }
  | ({ readonly state: 'reading' } & ReadSoFar)
  | { readonly state: 'read'; readonly value: Value; readonly readAtMs: number }
  | { readonly state: 'failed'; readonly problem: string };

export type Read<Value> = (signal: AbortSignal, onProgress: (soFar: ReadSoFar) => void) => Promise<Value>;

interface Question<Value> {
  /** Who asks, as `personKey` says. */
  readonly person: string;
  readonly read: Read<Value>;
}

interface Reading<Value> {
  readonly read: Read<Value>;
  readonly ending: AbortController;
  /** Who waits for it. */
  readonly people: Set<string>;
  asked: AskedReading<Value>;
  askedAtMs: number;
}

/** Readings of the log that may take minutes: one at a time, the same for all who ask the same, and none that nobody waits for. */
export class LongReadings<Value> implements Disposable {
  readonly #now: () => number;
  readonly #logger: Logger;
  readonly #readings = new Map<string, Reading<Value>>();
  readonly #timer: NodeJS.Timeout;
  /** Until its work has ended, and not only until somebody wants it to: so that one goes on at a time. */
  #isBusy = false;

  /** `now`: epoch milliseconds. */
  constructor({ now, logger }: { readonly now: () => number; readonly logger: Logger }) {
    this.#now = now;
    this.#logger = logger;
    this.#timer = setInterval(() => this.endWhatNobodyWaitsFor(), LOOK_EVERY_MS);
    this.#timer.unref();
  }

  /** How it stands, to be asked again and again; `null`: too many wait already, or too many of this person. */
  ask(question: string, { person, read }: Question<Value>): AskedReading<Value> | null {
    const known = this.#readings.get(question);
    if (known === undefined && !this.#hasPlaceFor(person)) return null;
    const reading = known ?? this.#add(question, read);
    reading.people.add(person);
    reading.askedAtMs = this.#now();
    this.#goOn();
    if (reading.asked.state === 'failed') this.#readings.delete(question);
    return reading.asked.state === 'waiting'
      ? { state: 'waiting', ahead: this.#ahead(reading) }
      : reading.asked;
  }

  /** What was read; `null` while it was not. */
  known(question: string): Value | null {
    const asked = this.#readings.get(question)?.asked;
    return asked?.state === 'read' ? asked.value : null;
  }

  /** Whoever asked does not wait any more. Where nobody else asks soon, it ends; at once, where it has not begun. */
  leave(question: string, person: string): void {
    const reading = this.#readings.get(question);
    if (reading === undefined) return;
    reading.people.delete(person);
    if (reading.asked.state === 'waiting' && reading.people.size === 0) this.#readings.delete(question);
    else reading.askedAtMs = Math.min(reading.askedAtMs, this.#now() - LEFT_AFTER_MS + LEFT_SOON_MS);
  }

  /** To be called again and again; the class does. */
  endWhatNobodyWaitsFor(): void {
    const nowMs = this.#now();
    const read: string[] = [];
    for (const [question, { asked, askedAtMs, ending }] of this.#readings) {
      const keptMs = asked.state === 'read' ? KEPT_MS : LEFT_AFTER_MS;
      if (nowMs - askedAtMs >= keptMs) {
        this.#readings.delete(question);
        ending.abort();
      } else if (asked.state === 'read') read.push(question);
    }
    for (const question of read.slice(0, Math.max(0, read.length - MOST_KEPT)))
      this.#readings.delete(question);
    this.#goOn();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    for (const { ending } of this.#readings.values()) ending.abort();
    this.#readings.clear();
  }

  #waiting(): readonly Reading<Value>[] {
    return [...this.#readings.values()].filter(({ asked }) => asked.state === 'waiting');
  }

  #hasPlaceFor(person: string): boolean {
    const waiting = this.#waiting();
    const own = waiting.filter(({ people }) => people.has(person));
    return waiting.length < MOST_WAITING && own.length < MOST_WAITING_OF_A_PERSON;
  }

  #ahead(reading: Reading<Value>): number {
    return this.#waiting().indexOf(reading) + 1;
  }

  #add(question: string, read: Read<Value>): Reading<Value> {
    const asked = { state: 'waiting', ahead: 0 } as const;
    const people = new Set<string>();
    const reading = { read, ending: new AbortController(), people, asked, askedAtMs: this.#now() };
    this.#readings.set(question, reading);
    return reading;
  }

  #goOn(): void {
    const [next] = this.#waiting();
    if (!this.#isBusy && next !== undefined) void this.#read(next);
  }

  async #read(reading: Reading<Value>): Promise<void> {
    this.#isBusy = true;
    reading.asked = { state: 'reading', done: 0, of: 0, records: 0 };
    const onProgress = (soFar: ReadSoFar): void => {
      if (reading.asked.state === 'reading') reading.asked = { state: 'reading', ...soFar };
    };
    try {
      const value = await reading.read(reading.ending.signal, onProgress);
      reading.asked = { state: 'read', value, readAtMs: this.#now() };
    } catch (thrown) {
      reading.asked = { state: 'failed', problem: this.#problemOf(thrown, reading.ending.signal) };
    }
    this.#isBusy = false;
    this.#goOn();
  }

  /** In a sentence for whoever asked. */
  #problemOf(thrown: unknown, { aborted }: AbortSignal): string {
    const error = toFleetGcError(thrown);
    if (aborted || error.code !== 'INTERNAL') return error.message;
    this.#logger.error({ err: error }, 'the event log could not be read for the page');
    return 'it could not be read; the logger output of the dashboard says why';
  }
}

type Log = LogReader;

/** So long a reading may have the process to itself. */
const TURN_MS = 10;

/** The same log. Whoever reads it to its end lets others have their turn: somebody waits for an answer of this process. */
export const sharingLog = (log: Log): Log => ({
  async *read(request, signal) {
    let sinceMs = performance.now();
    for await (const event of log.read(request, signal)) {
      yield event;
      if (performance.now() - sinceMs < TURN_MS) continue;
      await setImmediate();
      sinceMs = performance.now();
    }
  },
});

/** The same index, and what it leaves to be read is read so. */
export const sharingIndex = (index: NameIndex): NameIndex => ({
  search: (search, signal) => index.search(search, signal),
  withinRange: (files, search, signal) => index.withinRange(files, search, signal),
  lastNames: (search, signal) => index.lastNames(search, signal),
  ofNodes: (keys) => sharingLog(index.ofNodes(keys)),
});
