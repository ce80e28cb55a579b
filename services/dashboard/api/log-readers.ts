import pLimit from 'p-limit';
import { LinkedController } from '../../../packages/process/linked-controller.ts';
import { Refused } from './refused.ts';

/** Readings of the log at once for people who look; following it goes on beside them. */
const AT_ONCE = 2;
const MOST_WAITING = 20;
const MOST_MS = 20_000;

/** Lets people look something up on the log itself, few at a time and none for long. */
export class LogReaders {
  readonly #limit = pLimit(AT_ONCE);
  readonly #ending: AbortSignal;

  constructor(ending: AbortSignal) {
    this.#ending = ending;
  }

  async read<Value>(work: (signal: AbortSignal) => Promise<Value>): Promise<Value | Refused> {
    if (this.#limit.pendingCount >= MOST_WAITING)
      return new Refused(503, 'too many ask for what has to be read from the event log: try again');
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
