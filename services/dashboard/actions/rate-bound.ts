import { MINUTE_MS } from '../../../packages/process/durations.ts';

/** So many things a person may do in a minute; a program that acts in their name is stopped there. */
const MOST_IN_A_MINUTE = 30;
/** People who act are few; whoever makes up names gains nothing. */
const MOST_PEOPLE = 1_000;

/** How often somebody has acted lately. */
export class RateBound {
  readonly #acts = new Map<string, readonly number[]>();

  /** Whether one more is not too much; it counts then. */
  admits(name: string, nowMs: number): boolean {
    const lately = (this.#acts.get(name) ?? []).filter((atMs) => atMs > nowMs - MINUTE_MS);
    this.#acts.delete(name);
    const isAdmitted = lately.length < MOST_IN_A_MINUTE;
    this.#acts.set(name, isAdmitted ? [...lately, nowMs] : lately);
    const [longestAgo] = this.#acts.keys();
    if (this.#acts.size > MOST_PEOPLE && longestAgo !== undefined) this.#acts.delete(longestAgo);
    return isAdmitted;
  }
}
