import type { ClusterVerdict } from '../../schemas/events/cluster-decision.ts';
import type { ClusterObject } from '../../schemas/events/cluster-objects.ts';
import type { ClusterObjectResults } from '../../schemas/events/cluster-result.ts';
import type { Expiry } from '../../schemas/events/expiry.ts';
import type { Ownership, OwnershipCandidate } from '../../schemas/events/ownership.ts';
import type { Pods } from '../../schemas/events/pods.ts';
import { type ApprovalRecord, approvalsInForce } from '../../schemas/policy/approval.ts';
import type { ClusterPolicy } from '../../schemas/policy/cluster-policy.ts';
import type { PolicySetOf } from '../../schemas/policy/policy.ts';
import { decide as decideExpiry } from '../deciders/expiry-gc/decide.ts';
import { decide as decideOwnership } from '../deciders/graph-gc/decide.ts';
import { decide as decidePods } from '../deciders/pod-gc/decide.ts';
import { ownerNamed } from '../decision/approvals.ts';
import { type CommandingConclusion, clusterConclusion } from '../decision/cluster-handler.ts';
import { gateFor } from '../decision/gate.ts';
import { TOO_COSTLY } from '../decision/step-budget.ts';

/** Facts on whose candidates is decided, each by a service of its own. */
export const CANDIDATE_TOPICS = ['clusterOwnership', 'clusterPods', 'clusterExpiry'] as const;
export type CandidateTopic = (typeof CANDIDATE_TOPICS)[number];

/** A fact with candidates. */
export type CandidatesFact = Ownership | Pods | Expiry;

const TOPIC_OF = {
  'fleetgc.cluster.ownership': 'clusterOwnership',
  'fleetgc.cluster.pods': 'clusterPods',
  'fleetgc.cluster.expiry': 'clusterExpiry',
} as const satisfies Readonly<Record<CandidatesFact['type'], CandidateTopic>>;

/** What identifies an object to people. */
type NamedObject = Pick<ClusterObject, 'group' | 'kind' | 'namespace' | 'name' | 'uid'>;

/** An object that is held, by its own fact and the active policy, or by the executor that was to delete it. */
export interface HeldObject {
  readonly object: NamedObject;
  /** By what was told of it. */
  readonly topic: CandidateTopic;
  readonly verdict: Pick<ClusterVerdict, 'rule' | 'facts'>;
  /** When the log took the first fact that holds it without a break, by its clock. */
  readonly sinceMs: number;
  readonly lastMs: number;
}

/** What the active policies make of a fact, at this moment by the clock of the reader, epoch milliseconds; `null` where they decide nothing in that cluster. */
export function decidedAgain(
  fact: CandidatesFact,
  policies: PolicySetOf<'cluster'>,
  nowMs: number,
): CommandingConclusion | null {
  const gate = gateFor(policies, fact);
  if (gate.kind === 'closed')
    return gate.outcome === 'too-costly' ? { ...TOO_COSTLY, verdicts: [], items: [] } : null;
  const { takenAt } = fact;
  const { policy } = gate.record;
  const atMs = Math.max(nowMs, takenAt.serverMs + takenAt.spreadMs);
  const approvals = approvalsInForce(policies.approvals, fact, atMs);
  const conclusion = clusterConclusion(fact, { policy, approvals }, () => concluded(fact, policy, approvals));
  return conclusion.outcome === 'not-ours' ? null : conclusion;
}

function concluded(
  fact: CandidatesFact,
  policy: ClusterPolicy,
  approvals: readonly ApprovalRecord[],
): CommandingConclusion {
  switch (fact.type) {
    case 'fleetgc.cluster.ownership':
      return decideOwnership(fact, policy, approvals);
    case 'fleetgc.cluster.pods':
      return decidePods(fact, policy, approvals);
    case 'fleetgc.cluster.expiry':
      return decideExpiry(fact, policy, approvals);
  }
}

/** What of the candidates of a fact is held, each told at this moment by the log's clock. */
export function heldOf(
  fact: CandidatesFact,
  conclusion: CommandingConclusion | null,
  atMs: number,
): readonly HeldObject[] {
  const topic = TOPIC_OF[fact.type];
  return (conclusion?.verdicts ?? []).flatMap((verdict): HeldObject[] => {
    const object = fact.candidates[verdict.position]?.object;
    return verdict.action !== 'hold' || object === undefined
      ? []
      : [{ object: namedObject(object), topic, verdict, sinceMs: atMs, lastMs: atMs }];
  });
}

const namedObject = ({ group, kind, namespace, name, uid }: NamedObject): NamedObject => ({
  group,
  kind,
  namespace,
  name,
  uid,
});

/** The owners with which a candidate goes, as its own fact tells of them. */
type ToldOwners = Pick<OwnershipCandidate, 'cascades' | 'references'> & { readonly object: NamedObject };

/** Candidates whose owners are known, for what an executor finds of them. */
const MAX_REMEMBERED = 100_000;
/**
 * An agent tells each candidate again within ten minutes.
 * @limit Age of the last report after which a held object counts as gone. Keep it above `AGAIN_AFTER_MS` of the candidates.
 */
const TOLD_WITHIN_MS = 900_000;

/**
 * What is held in one cluster. Decisions are not read for it, since nobody signs them: each fact is decided again, by the policies that
 * are active now.
 */
export class HeldObjects {
  readonly #policies: PolicySetOf<'cluster'>;
  readonly #nowMs: number;
  /** By `heldKey`: several services may hold one object. Those that were told last stand at the end. */
  readonly #held = new Map<string, HeldObject>();
  /** By the uid of a candidate, those that were told last at the end. */
  readonly #owners = new Map<string, ToldOwners>();
  /** Those whose last fact would have taken too many steps. */
  readonly #tooCostly = new Set<CandidateTopic>();
  #instance: string | null = null;
  #heardMs = 0;

  /** `nowMs`: which approvals have ended by then, epoch milliseconds. */
  constructor(policies: PolicySetOf<'cluster'>, nowMs: number) {
    this.#policies = policies;
    this.#nowMs = nowMs;
  }

  get instance(): string | null {
    return this.#instance;
  }

  /** When its agent was heard last, by the log's clock. */
  get heardMs(): number {
    return this.#heardMs;
  }

  /** The active policies make more work than a decision may take, so everything is kept. */
  get isTooCostly(): boolean {
    return this.#tooCostly.size > 0;
  }

  /** What was not told again is not there any more, though nobody saw it go. */
  get held(): readonly HeldObject[] {
    return [...this.#held.values()].filter(({ lastMs }) => lastMs > this.#heardMs - TOLD_WITHIN_MS);
  }

  /** Its agent told something that nobody decides on. */
  heard(atMs: number): void {
    this.#heardMs = atMs;
  }

  fact(fact: CandidatesFact, atMs: number): void {
    const { clusterInstance } = fact;
    const topic = TOPIC_OF[fact.type];
    if (this.#instance !== clusterInstance) {
      this.#held.clear();
      this.#tooCostly.clear();
    }
    this.#instance = clusterInstance;
    this.#heardMs = atMs;
    if (fact.type === 'fleetgc.cluster.ownership') this.#takeOwners(fact);
    const conclusion = decidedAgain(fact, this.#policies, this.#nowMs);
    if (conclusion?.outcome === 'too-costly') this.#tooCostly.add(topic);
    else this.#tooCostly.delete(topic);
    const held = new Map(heldOf(fact, conclusion, atMs).map((each) => [each.object.uid, each]));
    for (const [position, { object }] of fact.candidates.entries()) {
      const key = heldKey(topic, object.uid);
      const before = this.#held.get(key);
      const now = held.get(object.uid);
      const action = conclusion?.verdicts[position]?.action ?? 'keep';
      // What is not let go comes to no executor.
      if (topic === OWNERSHIP && (action === 'keep' || action === 'hold'))
        this.#held.delete(executorKey(object.uid));
      this.#held.delete(key);
      if (now !== undefined) this.#held.set(key, { ...now, sinceMs: before?.sinceMs ?? atMs });
    }
  }

  #takeOwners({ settled, candidates }: Ownership): void {
    for (const { uid } of settled) {
      this.#held.delete(heldKey(OWNERSHIP, uid));
      this.#held.delete(executorKey(uid));
      this.#owners.delete(uid);
    }
    for (const { object, cascades, references } of candidates) {
      this.#owners.delete(object.uid);
      if (cascades.length === 0) continue;
      this.#owners.set(object.uid, { object: namedObject(object), cascades, references });
      const [oldest] = this.#owners.keys();
      if (this.#owners.size > MAX_REMEMBERED && oldest !== undefined) this.#owners.delete(oldest);
    }
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
      const told = this.#owners.get(object.uid);
      const facts = hold && told && factsByExecutor(hold.facts, told);
      this.#held.delete(key);
      if (hold === undefined || told === undefined || facts === undefined) continue;
      const verdict = { rule: hold.rule, facts };
      const sinceMs = before?.sinceMs ?? atMs;
      this.#held.set(key, { object: told.object, topic: OWNERSHIP, verdict, sinceMs, lastMs: atMs });
    }
  }
}

/**
 * An executor apart from the agent knows neither how wide a cascade is, nor who its owner is but from the object: the fact on which it was
 * decided says both. `undefined` where no fact told of such an owner.
 */
function factsByExecutor(
  { ownerUid, why, objects, ofKind }: ClusterVerdict['facts'],
  told: ToldOwners,
): ClusterVerdict['facts'] | undefined {
  const cascade = told.cascades.find((each) => each.ownerUid === ownerUid);
  const named = cascade && ownerNamed(cascade.ownerUid, told);
  if (cascade === undefined || named === undefined || named === null) return undefined;
  return {
    ownerUid: cascade.ownerUid,
    ownerKind: cascade.ownerKind,
    ownerName: named.name,
    ownerNamespace: named.namespace,
    ...(typeof why === 'string' && { why }),
    objects: Math.max(typeof objects === 'number' ? objects : 0, cascade.objects),
    ofKind: Math.max(typeof ofKind === 'number' ? ofKind : 0, cascade.ofKind),
  };
}

const OWNERSHIP = 'clusterOwnership' satisfies CandidateTopic;

const executorKey = (uid: string): string => `executor ${uid}`;
const heldKey = (topic: CandidateTopic, uid: string): string => `${topic} ${uid}`;
