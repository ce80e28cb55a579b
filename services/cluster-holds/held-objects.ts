import type { ClusterDecision, ClusterVerdict } from '../../schemas/events/cluster-decision.ts';
import type { Ownership } from '../../schemas/events/ownership.ts';

/** An object that is held, as its last decision says. */
export interface HeldObject {
  readonly uid: string;
  readonly verdict: Pick<ClusterVerdict, 'rule' | 'facts'>;
  /** Of the first decision that held it without a break, by the log's clock. */
  readonly sinceMs: number;
  readonly lastMs: number;
}

interface ToldFact {
  readonly instance: string;
  /** Uids by their position. */
  readonly uids: readonly string[];
}

/** Candidates of facts whose decision may still come. */
const MAX_REMEMBERED = 100_000;
/** An agent tells each candidate again within ten minutes. */
const TOLD_WITHIN_MS = 900_000;

/** What is held in one cluster, by its facts and the decisions on them, in the order in which the log has them. */
export class HeldObjects {
  readonly #held = new Map<string, HeldObject>();
  /** By the offsets of the facts, in their order. */
  readonly #facts = new Map<string, ToldFact>();
  #remembered = 0;
  #instance: string | null = null;
  #lastFactMs = 0;

  get instance(): string | null {
    return this.#instance;
  }

  /** When its agent was heard last, by the log's clock. */
  get lastFactMs(): number {
    return this.#lastFactMs;
  }

  /** What was not told again is not there any more, though nobody saw it go. */
  get held(): readonly HeldObject[] {
    return [...this.#held.values()].filter(({ lastMs }) => lastMs > this.#lastFactMs - TOLD_WITHIN_MS);
  }

  fact({ clusterInstance, candidates, settled }: Ownership, offset: bigint, atMs: number): void {
    if (this.#instance !== clusterInstance) this.#held.clear();
    this.#instance = clusterInstance;
    this.#lastFactMs = atMs;
    for (const { uid } of settled) this.#held.delete(uid);
    const uids = candidates.map(({ object }) => object.uid);
    this.#facts.set(String(offset), { instance: clusterInstance, uids });
    this.#remembered += uids.length;
    for (const [oldest, fact] of this.#facts) {
      if (this.#remembered <= MAX_REMEMBERED) return;
      this.#facts.delete(oldest);
      this.#remembered -= fact.uids.length;
    }
  }

  decision({ input, outcome, verdicts }: ClusterDecision, atMs: number): void {
    const fact = this.#facts.get(input.offset);
    if (fact === undefined || fact.instance !== this.#instance) return;
    for (const verdict of verdicts) {
      const uid = fact.uids[verdict.position];
      if (uid === undefined) continue;
      const before = this.#held.get(uid);
      if (verdict.action !== 'hold' || outcome === 'not-ours') this.#held.delete(uid);
      else this.#held.set(uid, { uid, verdict, sinceMs: before?.sinceMs ?? atMs, lastMs: atMs });
    }
  }
}
