import type { ClusterDecision, ClusterVerdict } from '../../schemas/events/cluster-decision.ts';
import { TOPICS } from '../../schemas/events/topics.ts';

/** Facts on whose candidates is decided, each by a service of its own. */
export const CANDIDATE_TOPICS = ['clusterOwnership', 'clusterPods', 'clusterExpiry'] as const;
export type CandidateTopic = (typeof CANDIDATE_TOPICS)[number];

/** What is read of such a fact. */
export interface CandidatesFact {
  readonly clusterInstance: string;
  readonly candidates: readonly { readonly object: { readonly uid: string } }[];
  /** Those that are candidates no longer; of pods, and of objects whose time is over, nobody tells. */
  readonly settled?: readonly { readonly uid: string }[];
}

/** An object that is held, as its last decision says. */
export interface HeldObject {
  readonly uid: string;
  /** By what was told of it. */
  readonly topic: CandidateTopic;
  readonly verdict: Pick<ClusterVerdict, 'rule' | 'facts'>;
  /** Of the first decision that held it without a break, by the log's clock. */
  readonly sinceMs: number;
  readonly lastMs: number;
}

interface ToldFact {
  readonly instance: string;
  readonly topic: CandidateTopic;
  /** Uids by their position. */
  readonly uids: readonly string[];
}

/** Candidates of facts whose decision may still come. */
const MAX_REMEMBERED = 100_000;
/** An agent tells each candidate again within ten minutes. */
const TOLD_WITHIN_MS = 900_000;

/** What is held in one cluster, by its facts and the decisions on them, in the order in which the log has them. */
export class HeldObjects {
  /** By `heldKey`: several services may hold one object. */
  readonly #held = new Map<string, HeldObject>();
  /** By the positions of the facts, in their order. */
  readonly #facts = new Map<string, ToldFact>();
  #remembered = 0;
  #instance: string | null = null;
  #heardMs = 0;

  get instance(): string | null {
    return this.#instance;
  }

  /** When its agent was heard last, by the log's clock. */
  get heardMs(): number {
    return this.#heardMs;
  }

  /** What was not told again is not there any more, though nobody saw it go. */
  get held(): readonly HeldObject[] {
    return [...this.#held.values()].filter(({ lastMs }) => lastMs > this.#heardMs - TOLD_WITHIN_MS);
  }

  /** Its agent told something that nobody decides on. */
  heard(atMs: number): void {
    this.#heardMs = atMs;
  }

  fact(topic: CandidateTopic, fact: CandidatesFact, offset: bigint, atMs: number): void {
    const { clusterInstance, candidates, settled = [] } = fact;
    if (this.#instance !== clusterInstance) this.#held.clear();
    this.#instance = clusterInstance;
    this.#heardMs = atMs;
    for (const { uid } of settled) this.#held.delete(heldKey(topic, uid));
    const uids = candidates.map(({ object }) => object.uid);
    this.#facts.set(factKey(TOPICS[topic].name, String(offset)), { instance: clusterInstance, topic, uids });
    this.#remembered += uids.length;
    for (const [oldest, told] of this.#facts) {
      if (this.#remembered <= MAX_REMEMBERED) return;
      this.#facts.delete(oldest);
      this.#remembered -= told.uids.length;
    }
  }

  decision({ input, outcome, verdicts }: ClusterDecision, atMs: number): void {
    const fact = this.#facts.get(factKey(input.topic, input.offset));
    if (fact === undefined || fact.instance !== this.#instance) return;
    const { topic, uids } = fact;
    for (const verdict of verdicts) {
      const uid = uids[verdict.position];
      if (uid === undefined) continue;
      const key = heldKey(topic, uid);
      const before = this.#held.get(key);
      if (verdict.action !== 'hold' || outcome === 'not-ours') this.#held.delete(key);
      else this.#held.set(key, { uid, topic, verdict, sinceMs: before?.sinceMs ?? atMs, lastMs: atMs });
    }
  }
}

const heldKey = (topic: CandidateTopic, uid: string): string => `${topic} ${uid}`;
const factKey = (topicName: string, offset: string): string => `${topicName} ${offset}`;
