import { MINUTE_MS } from '../../../packages/process/durations.ts';

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
