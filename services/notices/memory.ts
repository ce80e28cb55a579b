import { HOUR_MS } from '../../packages/process/durations.ts';
import type { Notice } from './notice.ts';

/** What the log tells again and again is told once in so long. */
export const REMIND_AFTER_MS = 24 * HOUR_MS;
const MOST_REMEMBERED = 20_000;

/** What was told of what the log tells again and again. Times are those of the log. */
export class ToldOnce {
  readonly #toldAtMs = new Map<string, number>();

  isNews({ onceKey, atMs }: Pick<Notice, 'onceKey' | 'atMs'>): boolean {
    const toldAtMs = onceKey === null ? undefined : this.#toldAtMs.get(onceKey);
    return toldAtMs === undefined || atMs - toldAtMs >= REMIND_AFTER_MS;
  }

  /** Only what was delivered, or given up: what fails comes again. */
  told(notices: readonly Notice[]): void {
    for (const { onceKey, atMs } of notices) {
      if (onceKey === null) continue;
      this.#toldAtMs.delete(onceKey);
      this.#toldAtMs.set(onceKey, atMs);
    }
    for (const key of this.#toldAtMs.keys()) {
      if (this.#toldAtMs.size <= MOST_REMEMBERED) return;
      this.#toldAtMs.delete(key);
    }
  }
}
