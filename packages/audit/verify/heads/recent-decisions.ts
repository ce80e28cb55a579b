import { runningHash } from '../../../canonical/running-hash.ts';
import type { LogRecord } from '../../../log/port.ts';
import type { Hashes } from './range-progress.ts';

/** A publish that the log took twice lies there twice within some seconds, in which a partition gets fewer decisions. */
const MOST_RECENT = 10_000;

/** The decisions that came last, by chain and number. */
export class RecentDecisions {
  readonly #taken = new Map<string, Hashes>();
  /** In turn: the first key of a map from which many were deleted takes long to find. */
  readonly #names: string[] = [];
  #at = 0;

  add(name: string, taken: Hashes): void {
    const oldest = this.#names[this.#at];
    if (oldest !== undefined) this.#taken.delete(oldest);
    this.#names[this.#at] = name;
    this.#at = (this.#at + 1) % MOST_RECENT;
    this.#taken.set(name, taken);
  }

  /** Whether this record is the one of that name; `null` where it came too long ago, or never. */
  isSame(name: string, record: LogRecord): boolean | null {
    const taken = this.#taken.get(name);
    return taken === undefined ? null : runningHash(taken.before, record) === taken.after;
  }
}
