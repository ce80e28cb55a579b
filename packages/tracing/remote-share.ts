/** Spans of traces that others began, in a second: whoever may write messages says of them what he likes. */
export const MOST_REMOTE_PER_SECOND = 200;
/** So many at once after a time with fewer. */
export const MOST_REMOTE_AT_ONCE = 1_000;

/** What may still be recorded of traces that others began. `now`: milliseconds of a clock that does not jump. */
export class RemoteShare {
  readonly #now: () => number;
  #left = MOST_REMOTE_AT_ONCE;
  #atMs: number;

  constructor(now: () => number) {
    this.#now = now;
    this.#atMs = now();
  }

  /** Whether one more may be recorded. */
  take(): boolean {
    const nowMs = this.#now();
    const grown = ((nowMs - this.#atMs) / 1_000) * MOST_REMOTE_PER_SECOND;
    this.#left = Math.min(MOST_REMOTE_AT_ONCE, this.#left + Math.max(0, grown));
    this.#atMs = nowMs;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}
