import pLimit from 'p-limit';
import { LinkedController } from '../../../packages/process/linked-controller.ts';
import { Refused } from './refused.ts';

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
