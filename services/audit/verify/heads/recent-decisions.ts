import { runningHash } from '../../../../packages/canonical/running-hash.ts';
import type { LogRecord } from '../../../../packages/event-log/port.ts';
import type { Hashes } from './range-progress.ts';

/** A publish that the log took twice lies there twice within some seconds: many more decisions than those of one partition. */
const MOST_RECENT = 10_000;

/** The decisions that came last, by chain and number. */
export class RecentDecisions {
  readonly #taken = new Map<string, Hashes>();

  add(name: string, taken: Hashes): void {
    this.#taken.set(name, taken);
    if (this.#taken.size <= MOST_RECENT) return;
    const [oldest = name] = this.#taken.keys();
    this.#taken.delete(oldest);
  }

  /** Whether this record is the one of that name; `null` where it came too long ago, or never. */
  isSame(name: string, record: LogRecord): boolean | null {
    const taken = this.#taken.get(name);
    return taken === undefined ? null : runningHash(taken.before, record) === taken.after;
  }
}
