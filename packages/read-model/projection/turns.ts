import { setImmediate } from 'node:timers/promises';

/** Whoever asks while the log is read waits no longer than some of these. */
const TURN_MS = 15;

/** Lets whoever asks have their turn while the log is read: all its readers together keep them waiting no longer than one turn. */
export class Turns {
  readonly #nowMs: () => number;
  #beganMs: number;
  #next: Promise<void> | null = null;

  /** `nowMs`: milliseconds of a clock that does not jump. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#beganMs = nowMs();
  }

  /** Resolves at once while the turn lasts. */
  async give(): Promise<void> {
    if (this.#nowMs() - this.#beganMs < TURN_MS) return;
    this.#next ??= this.#begin();
    await this.#next;
  }

  async #begin(): Promise<void> {
    await setImmediate();
    this.#beganMs = this.#nowMs();
    this.#next = null;
  }
}
