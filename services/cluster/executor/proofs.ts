/** As many as upstream remembers (cluster N3). */
const MAX_PROOFS = 500;
/**
 * And not longer than this, while upstream has no end: a restored cluster brings owners back.
 * @limit Age of a proof that an owner is absent (N3).
 */
export const PROOF_HOLDS_MS = 2_000;

/** What was proved a moment ago of objects that many others name: owners that are absent, and whether a namespace is kept. */
export class Proofs<Value> {
  readonly #nowMs: () => number;
  /** In order of time. */
  readonly #proved = new Map<string, { readonly value: Value; readonly atMs: number }>();
  readonly #asking = new Map<string, Promise<unknown>>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  get(key: string): Value | undefined {
    const proof = this.#proved.get(key);
    if (proof === undefined || this.#nowMs() - proof.atMs >= PROOF_HOLDS_MS) return undefined;
    return proof.value;
  }

  /** When it was asked for what was proved. */
  askedAtMs(key: string): number | undefined {
    return this.#proved.get(key)?.atMs;
  }

  /**
   * The proof, where there is one, or somebody who asks already gets one; else what `ask` comes to. Without it all workers would ask
   * the same at once whenever a proof has become too old.
   */
  async obtain<Answer>(key: string, ask: () => Promise<Answer>): Promise<Value | Answer> {
    const ahead = this.#asking.get(key);
    if (ahead !== undefined) await ahead.catch(() => undefined);
    const known = this.get(key);
    if (known !== undefined) return known;
    const asking = ask();
    if (!this.#asking.has(key)) this.#asking.set(key, asking);
    try {
      return await asking;
    } finally {
      if (this.#asking.get(key) === asking) this.#asking.delete(key);
    }
  }

  /** `askedAtMs`: when the request was sent, by the same clock. */
  add(key: string, value: Value, askedAtMs: number): void {
    this.#proved.delete(key);
    this.#proved.set(key, { value, atMs: askedAtMs });
    if (this.#proved.size <= MAX_PROOFS) return;
    for (const oldest of this.#proved.keys()) {
      this.#proved.delete(oldest);
      return;
    }
  }
}
