import pLimit from 'p-limit';
import { MINUTE_MS } from '../../packages/process/durations.ts';
import { LinkedController } from '../../packages/process/linked-controller.ts';
import { Refused } from './api/answer.ts';

/** People who act are few; whoever makes up names gains nothing. */
const MOST_PEOPLE = 1_000;

/** How often somebody has acted lately; a program that acts in their name is stopped there. */
export class RateBound {
  readonly #mostInAMinute: number;
  readonly #acts = new Map<string, readonly number[]>();

  constructor(mostInAMinute: number) {
    this.#mostInAMinute = mostInAMinute;
  }

  /** How long somebody has to wait for one more, in milliseconds; 0: it may be done, and counts then. */
  waitMs(name: string, nowMs: number): number {
    const lately = (this.#acts.get(name) ?? []).filter((atMs) => atMs > nowMs - MINUTE_MS);
    this.#acts.delete(name);
    const isAdmitted = lately.length < this.#mostInAMinute;
    this.#acts.set(name, isAdmitted ? [...lately, nowMs] : lately);
    const [longestAgo] = this.#acts.keys();
    if (this.#acts.size > MOST_PEOPLE && longestAgo !== undefined) this.#acts.delete(longestAgo);
    return isAdmitted ? 0 : Math.max(1, (lately[0] ?? nowMs) + MINUTE_MS - nowMs);
  }
}

/** Whoever has to wait because others of their own are not done yet, comes again then. */
const SOON_MS = 1_000;

/** Somebody is answered, until it is disposed of; or has to wait. */
type Begun = Disposable & { readonly waitMs: number };

/** How much of one sort a person may ask at once, and in a minute. */
export class PersonBound {
  readonly #mostAtOnce: number;
  readonly #rate: RateBound;
  readonly #underWay = new Map<string, number>();

  constructor({ atOnce, inAMinute }: { readonly atOnce: number; readonly inAMinute: number }) {
    this.#mostAtOnce = atOnce;
    this.#rate = new RateBound(inAMinute);
  }

  begin(person: string, nowMs: number): Begun {
    const underWay = this.#underWay.get(person) ?? 0;
    const waitMs = underWay >= this.#mostAtOnce ? SOON_MS : this.#rate.waitMs(person, nowMs);
    if (waitMs > 0) return { waitMs, [Symbol.dispose]: () => undefined };
    this.#underWay.set(person, underWay + 1);
    return { waitMs, [Symbol.dispose]: () => this.#end(person) };
  }

  #end(person: string): void {
    const left = (this.#underWay.get(person) ?? 0) - 1;
    if (left > 0) this.#underWay.set(person, left);
    else this.#underWay.delete(person);
  }
}

/** Readings of the log at once for people who look; following it goes on beside them. */
const AT_ONCE = 2;
const MOST_WAITING = 20;
/** So that one person cannot have all the places; a view asks for two or three of them. */
const MOST_OF_A_PERSON = 8;
const MOST_MS = 20_000;

/** Lets people look something up that takes a while, such as what the log itself says: few at a time and none for long. */
export class LogReaders {
  readonly #limit = pLimit(AT_ONCE);
  readonly #ending: AbortSignal;
  readonly #asked = new Map<string, number>();

  constructor(ending: AbortSignal) {
    this.#ending = ending;
  }

  /** `person` as `personKey` says. */
  async read<Value>(person: string, work: (signal: AbortSignal) => Promise<Value>): Promise<Value | Refused> {
    const asked = this.#asked.get(person) ?? 0;
    if (asked >= MOST_OF_A_PERSON)
      return new Refused(503, 'you ask for too much at once that has to be looked up: try again');
    if (this.#limit.pendingCount >= MOST_WAITING)
      return new Refused(503, 'too many ask for what has to be looked up: try again');
    this.#asked.set(person, asked + 1);
    try {
      return await this.#read(work);
    } finally {
      const left = (this.#asked.get(person) ?? 0) - 1;
      if (left > 0) this.#asked.set(person, left);
      else this.#asked.delete(person);
    }
  }

  async #read<Value>(work: (signal: AbortSignal) => Promise<Value>): Promise<Value | Refused> {
    return await this.#limit(async () => {
      const tooLate = AbortSignal.timeout(MOST_MS);
      using either = new LinkedController(tooLate, this.#ending);
      try {
        return await work(either.signal);
      } catch (error) {
        if (!tooLate.aborted) throw error;
        return new Refused(503, 'the event log does not answer in time: try again');
      }
    });
  }
}

/** A report of a large fleet has room, and what a page asks for besides. */
const MOST_HELD_BYTES = 64 * 1024 * 1024;

/**
 * Bytes of responses that each user has not read yet. A client that reads slowly, or not at all, could otherwise hold a report as
 * large as the fleet in memory for each of its connections.
 */
export class AnswerRoom {
  readonly #held = new Map<string, number>();

  /** Counted until the result is disposed of; `null`: too much is pending. A single response always has room. */
  begin(person: string, bytes: number): Disposable | null {
    const held = this.#held.get(person) ?? 0;
    if (held > 0 && held + bytes > MOST_HELD_BYTES) return null;
    this.#held.set(person, held + bytes);
    return { [Symbol.dispose]: () => this.#end(person, bytes) };
  }

  #end(person: string, bytes: number): void {
    const left = (this.#held.get(person) ?? 0) - bytes;
    if (left > 0) this.#held.set(person, left);
    else this.#held.delete(person);
  }
}
