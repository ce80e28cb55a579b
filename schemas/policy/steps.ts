/** More elementary steps would be needed than one answer may take. */
export class TooCostly extends Error {}

/**
 * Counts the elementary steps of one answer: about one for each character that is compared, and for each object that is looked up. It
 * reads no clock, so that equal inputs end at the same step on every machine.
 */
export class Steps {
  #taken = 0;
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  /** Throws `TooCostly` once there are more than allowed. */
  take(steps: number): void {
    this.#taken += steps;
    if (this.#taken > this.#most) throw new TooCostly(`more than ${this.#most} steps`);
  }

  get taken(): number {
    return this.#taken;
  }
}

/**
 * What one decision may take: less than 50 ms of a processor, whatever the input. An ordinary large node takes a fifth of it.
 * @limit Elementary steps of one decision. A decision that needs more removes nothing. Frozen deciders have it too.
 */
export const MAX_DECISION_STEPS = 6_000_000;

/**
 * What it may take to find out which policy is for a subject: as much again.
 * @limit Elementary steps to select the policy of one node or cluster.
 */
export const MAX_SELECTION_STEPS = 5_000_000;
