import { HOUR_MS, MINUTE_MS } from '../../../packages/process/durations.ts';

/** How many there were in the past hour: minutes, and the one in which that hour began. */
class HourlyCount {
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

interface OpenRemoval {
  readonly takenAtMs: number;
  readonly isRepeated: boolean;
}

/** What was counted longest ago is forgotten beyond so many: owners, and removals of which nobody knows. These stay counted. */
const MAX_COUNTED = 50_000;

/**
 * What this executor deleted in the past hour: all of it, and by the owners, and kinds of owners, for which it went. An executor that has no graph cannot
 * know how wide a cascade is before it begins; it knows how much of it is gone (cluster S1).
 */
export class RemovalCounts {
  readonly #all = new HourlyCount();
  readonly #byOwner = new Map<string, HourlyCount>();
  /** By uid: removals of which nobody knows whether they came about. */
  readonly #open = new Map<string, OpenRemoval>();
  /** By what limits them: objects that are being judged or deleted just now. */
  readonly #inHand = new Map<string, Set<string>>();
  /** By uid, the same. */
  readonly #limiting = new Map<string, Set<string>>();

  /**
   * False where as many have gone as the limit allows. Otherwise the object counts, until it stays. It goes once, so it counts once
   * however often it is tried: what the API server fails to delete must not use up the limit of the rest.
   */
  take(uid: string, nowMs: number, limit: number): boolean {
    const earlier = this.#open.get(uid);
    if (earlier !== undefined) this.#all.add(earlier.takenAtMs, -1);
    if (this.#all.inPastHour(nowMs) >= limit) {
      if (earlier !== undefined) this.#all.add(earlier.takenAtMs);
      return false;
    }
    this.#all.add(nowMs);
    this.#open.delete(uid);
    this.#open.set(uid, { takenAtMs: nowMs, isRepeated: earlier !== undefined });
    forgetOldest(this.#open);
    return true;
  }

  /** It is certain that this try removed nothing; of an earlier one nobody knows. */
  stays(uid: string): void {
    const open = this.#open.get(uid);
    if (open === undefined || open.isRepeated) return;
    this.#all.add(open.takenAtMs, -1);
    this.#open.delete(uid);
  }

  went(uid: string, atMs: number, owners: readonly string[]): void {
    this.#open.delete(uid);
    this.letGo(uid);
    this.#countFor(owners, atMs);
  }

  /**
   * How many went for this key in the past hour, or are in hand for it beside this object, which is in hand for it from now on, until
   * it is let go: what is judged side by side must not be more together than one by one.
   */
  beside(key: string, uid: string, nowMs: number): number {
    return this.of(key, nowMs) + this.#takeInHand(key, uid) - 1;
  }

  /** Nothing is done with it any more, for now. */
  letGo(uid: string): void {
    for (const key of this.#limiting.get(uid) ?? []) {
      const inHand = this.#inHand.get(key);
      inHand?.delete(uid);
      if (inHand?.size === 0) this.#inHand.delete(key);
    }
    this.#limiting.delete(uid);
  }

  /** How many are in hand for it then. */
  #takeInHand(key: string, uid: string): number {
    const inHand = this.#inHand.get(key) ?? new Set<string>();
    this.#inHand.set(key, inHand.add(uid));
    const limiting = this.#limiting.get(uid) ?? new Set<string>();
    this.#limiting.set(uid, limiting.add(key));
    return inHand.size;
  }

  /** False where as many have gone, or are in hand, as this limit allows. Otherwise the object is in hand until it is let go. */
  begin(key: string, uid: string, nowMs: number, limit: number): boolean {
    const others = new Set(this.#inHand.get(key));
    others.delete(uid);
    if (this.of(key, nowMs) + others.size >= limit) return false;
    this.#takeInHand(key, uid);
    return true;
  }

  /** Nobody knows whether it went, so it counts as gone. */
  mayHaveGone(key: string, uid: string, atMs: number): void {
    this.letGo(uid);
    this.#countFor([key], atMs);
  }

  /** One that went in an earlier life of the executor. */
  wentBefore(atMs: number, countsFor: readonly string[]): void {
    this.#all.add(atMs);
    this.#countFor(countsFor, atMs);
  }

  #countFor(owners: readonly string[], atMs: number): void {
    for (const owner of new Set(owners)) {
      const count = this.#byOwner.get(owner) ?? new HourlyCount();
      count.add(atMs);
      this.#byOwner.delete(owner);
      this.#byOwner.set(owner, count);
    }
    forgetOldest(this.#byOwner);
  }

  of(owner: string, nowMs: number): number {
    return this.#byOwner.get(owner)?.inPastHour(nowMs) ?? 0;
  }
}

function forgetOldest(counted: Map<string, unknown>): void {
  for (const oldest of counted.keys()) {
    if (counted.size <= MAX_COUNTED) return;
    counted.delete(oldest);
  }
}

/*
 * What removals are counted for. Each has a word of its own before it: the uid of an owner is what somebody wrote into a reference, and
 * may look like anything.
 */

export const ownerKey = (uid: string): string => `owner ${uid}`;

/** Counted beside the owners of that kind. */
export const kindKey = (kind: string): string => `kind ${kind}`;

/** Counted by themselves: what else goes with missing nodes is no pod, and waits for an approval of its own. */
export const PODS_OF_MISSING_NODES = 'pods of missing nodes';

/** Of what goes by a rule of a policy. */
export const ruleKey = (name: string): string => `rule ${name}`;
