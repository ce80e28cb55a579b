import { HOUR_MS, MINUTE_MS } from '../../../packages/process/durations.ts';

/** How many there were in the past hour: minutes, and the one in which that hour began. */
export class HourlyCount {
  readonly #minutes = new Map<number, number>();

  /** Milliseconds that only grow; what was before the process began is negative. */
  add(atMs: number, by = 1): void {
    const minute = Math.floor(atMs / MINUTE_MS);
    this.#minutes.set(minute, (this.#minutes.get(minute) ?? 0) + by);
  }

  inPastHour(nowMs: number): number {
    const first = Math.floor((nowMs - HOUR_MS) / MINUTE_MS);
    let sum = 0;
    for (const [minute, count] of this.#minutes) {
      if (minute < first) this.#minutes.delete(minute);
      else sum += count;
    }
    return sum;
  }
}

/** The owner that was counted longest ago is forgotten beyond so many. */
const MAX_OWNERS = 50_000;

/**
 * What this executor deleted in the past hour: all of it, and by the owners, and kinds of owners, for which it went. An executor that has no graph cannot
 * know how wide a cascade is before it begins; it knows how much of it is gone (cluster S1).
 */
export class RemovalCounts {
  readonly #all = new HourlyCount();
  readonly #byOwner = new Map<string, HourlyCount>();

  /** False where as many have gone as the limit allows. Otherwise it counts, until it is given back. */
  take(nowMs: number, limit: number): boolean {
    if (this.#all.inPastHour(nowMs) >= limit) return false;
    this.#all.add(nowMs);
    return true;
  }

  /** It is certain that nothing went. */
  giveBack(takenAtMs: number): void {
    this.#all.add(takenAtMs, -1);
  }

  /** One that went in an earlier life of the executor. */
  wentBefore(atMs: number, ownerUids: readonly string[]): void {
    this.#all.add(atMs);
    this.went(atMs, ownerUids);
  }

  went(atMs: number, owners: readonly string[]): void {
    for (const owner of new Set(owners)) {
      const count = this.#byOwner.get(owner) ?? new HourlyCount();
      count.add(atMs);
      this.#byOwner.delete(owner);
      this.#byOwner.set(owner, count);
    }
    for (const oldest of this.#byOwner.keys()) {
      if (this.#byOwner.size <= MAX_OWNERS) return;
      this.#byOwner.delete(oldest);
    }
  }

  of(owner: string, nowMs: number): number {
    return this.#byOwner.get(owner)?.inPastHour(nowMs) ?? 0;
  }
}
