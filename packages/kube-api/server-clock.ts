import type { ClusterInstant } from '../../schemas/events/cluster-objects.ts';

/** The API server's time now, as far as its answers tell it. */
export interface ServerTime {
  /** Its clock shows at least this: ages count by it, so that nothing is too early. */
  readonly earliestMs: number;
  /** And at most this: what expires does so by it. */
  readonly latestMs: number;
}

/** When an answer came, by a clock that only grows. */
export interface AnswerTime {
  /** Its header `Date`: whole seconds, cut. */
  readonly dateMs: number;
  readonly sentAtMs: number;
  readonly receivedAtMs: number;
}

const DATE_RESOLUTION_MS = 1_000;
/** @limit Age of the last response that shows the time of the API server. Rules about time wait without one. */
const MAX_SILENCE_MS = 60_000;
const MAX_STEP_MS = 10_000;
/** After a step, answers have to agree for so long. */
const STEADY_AFTER_MS = 60_000;

/** The API server's clock, which is the only one that rules about time go by. */
export class ServerClock {
  #last: AnswerTime | null = null;
  #steppedAtMs: number | null = null;

  /** Answers may be told in any order. */
  told(answer: AnswerTime): void {
    if (this.#last !== null) {
      const known = boundsOf(this.#last, answer.receivedAtMs);
      const now = boundsOf(answer, answer.receivedAtMs);
      const apartMs = Math.max(now.earliestMs - known.latestMs, known.earliestMs - now.latestMs);
      if (apartMs > MAX_STEP_MS) this.#steppedAtMs = answer.receivedAtMs;
      if (answer.receivedAtMs < this.#last.receivedAtMs) return;
    }
    this.#last = answer;
  }

  /** Since the last answer; `null` before the first one. */
  silentForMs(monotonicMs: number): number | null {
    return this.#last && monotonicMs - this.#last.receivedAtMs;
  }

  /** `null` while no rule about time may be believed. */
  at(monotonicMs: number): ServerTime | null {
    if (this.#last === null || monotonicMs - this.#last.receivedAtMs > MAX_SILENCE_MS) return null;
    if (this.#steppedAtMs !== null && monotonicMs - this.#steppedAtMs < STEADY_AFTER_MS) return null;
    return boundsOf(this.#last, monotonicMs);
  }

  /** The same as events tell it. */
  instantAt(monotonicMs: number): ClusterInstant | null {
    const time = this.at(monotonicMs);
    return time && { serverMs: time.earliestMs, spreadMs: time.latestMs - time.earliestMs };
  }
}

/** The server wrote the date after we asked and before we had the answer. In whole milliseconds, as times stand in events. */
const boundsOf = ({ dateMs, sentAtMs, receivedAtMs }: AnswerTime, atMs: number): ServerTime => ({
  earliestMs: Math.floor(dateMs + (atMs - receivedAtMs)),
  latestMs: Math.ceil(dateMs + DATE_RESOLUTION_MS + (atMs - sentAtMs)),
});
