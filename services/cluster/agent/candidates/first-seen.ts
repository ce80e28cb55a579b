/** An object has to be known for so long before it counts that its owner is not: the owner's event may be behind. */
const SETTLED_AFTER_MS = 1_000;

/** Since when new objects are known; of older ones nothing is kept. */
export class FirstSeen {
  /** In order of time. */
  readonly #sinceMs = new Map<string, number>();

  note(uid: string, nowMs: number): void {
    if (!this.#sinceMs.has(uid)) this.#sinceMs.set(uid, nowMs);
  }

  forget(uid: string): void {
    this.#sinceMs.delete(uid);
  }

  isSettled(uid: string): boolean {
    return !this.#sinceMs.has(uid);
  }

  /** Objects that have become old enough. */
  takeSettled(nowMs: number): readonly string[] {
    const settled: string[] = [];
    for (const [uid, sinceMs] of this.#sinceMs) {
      if (nowMs - sinceMs < SETTLED_AFTER_MS) break;
      this.#sinceMs.delete(uid);
      settled.push(uid);
    }
    return settled;
  }
}
