import type { ClusterDecision, ClusterVerdict } from '../../schemas/events/cluster-decision.ts';
import type { ClusterObjectResults } from '../../schemas/events/cluster-result.ts';
import type { Cascade } from '../../schemas/events/ownership.ts';
import { TOPICS } from '../../schemas/events/topics.ts';

/** Facts on whose candidates is decided, each by a service of its own. */
export const CANDIDATE_TOPICS = ['clusterOwnership', 'clusterPods', 'clusterExpiry'] as const;
export type CandidateTopic = (typeof CANDIDATE_TOPICS)[number];

/** What is read of such a fact. */
export interface CandidatesFact {
  readonly clusterInstance: string;
  readonly candidates: readonly {
    readonly object: { readonly uid: string };
    readonly cascades?: readonly Cascade[];
  }[];
  /** Those that are candidates no longer; of pods, and of objects whose time is over, nobody tells. */
  readonly settled?: readonly { readonly uid: string }[];
}

/** An object that is held, as its last decision says, or the executor that was to delete it. */
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
  /** By `heldKey`: several services may hold one object. Those that were told last stand at the end. */
  readonly #held = new Map<string, HeldObject>();
  /** By the positions of the facts, in their order. */
  readonly #facts = new Map<string, ToldFact>();
  /** By the uid of a candidate, those that were told last at the end. */
  readonly #cascades = new Map<string, readonly Cascade[]>();
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
    for (const { uid } of settled) this.#settled(topic, uid);
    for (const { object, cascades = [] } of candidates) this.#take(object.uid, cascades);
    const uids = candidates.map(({ object }) => object.uid);
    this.#facts.set(factKey(TOPICS[topic].name, String(offset)), { instance: clusterInstance, topic, uids });
    this.#remembered += uids.length;
    for (const [oldest, told] of this.#facts) {
      if (this.#remembered <= MAX_REMEMBERED) return;
      this.#facts.delete(oldest);
      this.#remembered -= told.uids.length;
    }
  }

  #settled(topic: CandidateTopic, uid: string): void {
    this.#held.delete(heldKey(topic, uid));
    if (topic !== OWNERSHIP) return;
    this.#held.delete(executorKey(uid));
    this.#cascades.delete(uid);
  }

  #take(uid: string, cascades: readonly Cascade[]): void {
    if (cascades.length === 0) return;
    this.#cascades.delete(uid);
    this.#cascades.set(uid, cascades);
    const [oldest] = this.#cascades.keys();
    if (this.#cascades.size > MAX_REMEMBERED && oldest !== undefined) this.#cascades.delete(oldest);
  }

  /**
   * An executor found of some objects that they are held, which no decision knew. It counts for candidates of the agent alone, and for
   * owners of which that told: a result is no place for others to name what people shall approve.
   */
  results({ clusterInstance, objects }: ClusterObjectResults, atMs: number): void {
    if (clusterInstance !== this.#instance) return;
    for (const { object, result } of objects) {
      const key = executorKey(object.uid);
      const before = this.#held.get(key);
      const hold = result.outcome === 'refused' ? result.hold : undefined;
      const facts = hold && this.#widened(object.uid, hold.facts);
      this.#held.delete(key);
      if (hold === undefined || facts === undefined) continue;
      const verdict = { rule: hold.rule, facts };
      const sinceMs = before?.sinceMs ?? atMs;
      this.#held.set(key, { uid: object.uid, topic: OWNERSHIP, verdict, sinceMs, lastMs: atMs });
    }
  }

  /**
   * An executor apart from the agent does not know how wide a cascade is; the fact on which it was decided says it. `undefined` where no
   * fact told of such an owner.
   */
  #widened(uid: string, facts: HeldObject['verdict']['facts']): HeldObject['verdict']['facts'] | undefined {
    const cascade = this.#cascades.get(uid)?.find(({ ownerUid }) => ownerUid === facts.ownerUid);
    if (cascade === undefined) return undefined;
    const { objects, ofKind } = facts;
    return {
      ...facts,
      ...(typeof objects === 'number' && { objects: Math.max(objects, cascade.objects) }),
      ...(typeof ofKind === 'number' && { ofKind: Math.max(ofKind, cascade.ofKind) }),
    };
  }

  decision({ input, outcome, verdicts }: ClusterDecision, atMs: number): void {
    const fact = this.#facts.get(factKey(input.topic, input.offset));
    if (fact === undefined || fact.instance !== this.#instance) return;
    for (const verdict of verdicts) {
      const uid = fact.uids[verdict.position];
      if (uid !== undefined) this.#decided(uid, fact.topic, outcome === 'not-ours' ? null : verdict, atMs);
    }
  }

  /** `null`: nobody here decides on it. */
  #decided(uid: string, topic: CandidateTopic, verdict: ClusterVerdict | null, atMs: number): void {
    const key = heldKey(topic, uid);
    const before = this.#held.get(key);
    // What is not let go comes to no executor.
    if (topic === OWNERSHIP && (verdict === null || !isLetGo(verdict))) this.#held.delete(executorKey(uid));
    this.#held.delete(key);
    if (verdict?.action === 'hold')
      this.#held.set(key, { uid, topic, verdict, sinceMs: before?.sinceMs ?? atMs, lastMs: atMs });
  }
}

const OWNERSHIP = 'clusterOwnership' satisfies CandidateTopic;
const isLetGo = ({ action }: ClusterVerdict): boolean => action !== 'keep' && action !== 'hold';

const executorKey = (uid: string): string => `executor ${uid}`;
const heldKey = (topic: CandidateTopic, uid: string): string => `${topic} ${uid}`;
const factKey = (topicName: string, offset: string): string => `${topicName} ${offset}`;
