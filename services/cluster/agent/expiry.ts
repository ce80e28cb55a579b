import { dueOf } from '../../../packages/deciders/expiry-gc/rules/due.ts';
import {
  annotatedEndMs,
  forbiddenBecause,
  jobStateOf,
  labelsAsked,
  ownEndOf,
  ruleFor,
  rulesOn,
  type Share,
} from '../../../packages/deciders/expiry-gc/rules/own-rules.ts';
import type { Expiring, LabelsAsked } from '../../../packages/kube-api/expiring.ts';
import { controllerOf, mayBeJob } from '../../../packages/kube-api/metadata.ts';
import type { ResourceKind } from '../../../packages/owner-graph/kinds.ts';
import { kindName, type ServedKind } from '../../../schemas/events/cluster-objects.ts';
import {
  type Expiry,
  type ExpiryCandidate,
  type JobState,
  MAX_EXPIRING,
} from '../../../schemas/events/expiry.ts';
import type { ClusterIdentity } from '../../../schemas/events/identity.ts';
import type { ClusterPolicyRecord } from '../../../schemas/policy/cluster-policy.ts';
import type { OwnRule } from '../../../schemas/policy/own-rule.ts';
import { watchKey } from './kinds.ts';
import { Mirror } from './mirror.ts';
import { graphObject, JOB_RESOURCE, type ObservedObject } from './observed-object.ts';
import type { AgentParts } from './ports.ts';
import { HoldsWatch, LONG_FACT_CHARACTERS, publishUntilDone } from './publish.ts';
import type { ReflectorSink } from './reflector.ts';

interface ExpiryPublishing {
  readonly parts: AgentParts;
  readonly identity: ClusterIdentity & { readonly session: string };
  readonly book: ExpiryBook;
  /** Whether anything may be published (cluster I10). */
  readonly isReady: () => boolean;
}

/** How often it is looked whose time is over. */
const LOOK_EVERY_MS = 1_000;

/** Publishes objects whose time is over, until the signal aborts. */
export async function publishExpiry(publishing: ExpiryPublishing, signal: AbortSignal): Promise<void> {
  const { parts, identity, book, isReady } = publishing;
  const holds = new HoldsWatch();
  for (let seq = 0; !signal.aborted; ) {
    const instant = parts.connection.clock.instantAt(parts.nowMs());
    if (instant !== null && holds.isChanged(parts.holds(identity, instant.serverMs), parts.nowMs()))
      book.tellAgain();
    const batch = instant === null || !isReady() ? null : book.take(instant.serverMs);
    if (instant === null || batch === null || batch.candidates.length === 0) {
      await parts.sleep(LOOK_EVERY_MS, signal);
      continue;
    }
    const { cluster, clusterInstance, session } = identity;
    const fact: Expiry = {
      type: 'fleetgc.cluster.expiry',
      version: 1,
      id: parts.newId(),
      cluster,
      clusterInstance,
      session,
      seq: seq++,
      takenAt: instant,
      ...batch,
    };
    await publishUntilDone(parts, fact, signal);
  }
}

/** How soon a changed policy counts. */
const READ_RULES_EVERY_MS = 1_000;

/** Objects whose time comes: by themselves, and by the rules of the policy in force. */
export class ExpiryWatch {
  readonly book: ExpiryBook;
  /** What is read of the cluster goes to these. */
  readonly sinks: readonly ReflectorSink[];
  readonly #policy: AgentParts['policy'];
  readonly #rules = new RulesInForce();
  readonly #jobs = new Mirror<JobState>({
    of: JOB_RESOURCE,
    rowOf: (_, { expiring }) => jobStateOf(expiring?.facts ?? null),
  });

  constructor(
    graph: Pick<ExpiryBookOptions, 'isKeptNamespace' | 'countObjects'>,
    policy: AgentParts['policy'],
  ) {
    this.#policy = policy;
    this.#rules.update(policy());
    this.book = new ExpiryBook({
      isKeptNamespace: (namespace) => graph.isKeptNamespace(namespace),
      countObjects: (kind) => graph.countObjects(kind),
      rules: (kind) => this.#rules.rules(kind),
      jobState: (uid) => this.#jobs.row(uid) ?? 'unknown',
    });
    this.sinks = [this.#jobs, this.book];
  }

  labelsAsked(kind: ResourceKind): LabelsAsked {
    return this.#rules.labels(kind);
  }

  /** Until the signal aborts. `restart` has a kind read anew for which other rules hold now. */
  async followRules(
    restart: (kind: string) => void,
    sleep: AgentParts['sleep'],
    signal: AbortSignal,
  ): Promise<void> {
    while (!signal.aborted) {
      for (const kind of this.#rules.update(this.#policy())) {
        this.book.recount(kind);
        restart(kind);
      }
      await sleep(READ_RULES_EVERY_MS, signal);
    }
  }
}

interface RulesOfKind {
  readonly rules: readonly OwnRule[];
  readonly labels: LabelsAsked;
}
const NONE: RulesOfKind = { rules: [], labels: null };

/** Rules of the policy in force that ask more of objects than annotations, by the kinds that they are for. */
export class RulesInForce {
  #hash = '';
  #byKind: ReadonlyMap<string, RulesOfKind> = new Map();

  rules(kind: Pick<ServedKind, 'group' | 'kind'>): readonly OwnRule[] {
    return this.#of(kind).rules;
  }

  labels(kind: Pick<ServedKind, 'group' | 'kind'>): LabelsAsked {
    return this.#of(kind).labels;
  }

  /** Kinds for which other rules hold now. Without a policy, and while nobody can tell, those of before stay: nobody decides by them. */
  update(record: ClusterPolicyRecord | null): readonly string[] {
    if (record === null || record.hash === this.#hash) return [];
    const before = this.#byKind;
    this.#hash = record.hash;
    this.#byKind = byKind(record.policy.rules ?? []);
    const kinds = new Set([...before.keys(), ...this.#byKind.keys()]);
    return [...kinds].filter((kind) => textOf(before.get(kind)) !== textOf(this.#byKind.get(kind)));
  }

  #of(kind: Pick<ServedKind, 'group' | 'kind'>): RulesOfKind {
    return this.#byKind.get(kindName(kind)) ?? NONE;
  }
}

function byKind(all: readonly OwnRule[]): ReadonlyMap<string, RulesOfKind> {
  const kinds = new Set(all.flatMap((rule) => rule.kinds));
  return new Map(
    [...kinds].flatMap((kind) => {
      const rules = rulesOn(all, kind);
      return rules.length === 0 ? [] : [[kind, { rules, labels: labelsAsked(rules) }]];
    }),
  );
}

const textOf = (of: RulesOfKind | undefined): string => JSON.stringify(of?.rules ?? []);

interface ExpiryBookOptions {
  /** Whether the namespace bears the annotation that keeps all in it (cluster S5). */
  isKeptNamespace(namespace: string): boolean;
  /** How many objects of the kind there are (cluster S11). */
  countObjects(kind: ResourceKind): number;
  /** Rules of the policy in force for a kind, where they ask more of its objects than annotations. */
  rules(kind: ResourceKind): readonly OwnRule[];
  /** How far the Job of this uid is (cluster S15). */
  jobState(uid: string): JobState;
}

/** What is published at once. */
export type ExpiryBatch = Pick<Expiry, 'candidates' | 'shares'>;

/** Published again after so long, so that what was lost or has expired heals. */
const AGAIN_AFTER_MS = 600_000;
/** Looked at again after so long, where its kind is not counted yet. */
const UNCOUNTED_AGAIN_AFTER_MS = 1_000;
const COUNT_HOLDS_MS = 1_000;

/**
 * Objects that say by themselves when their time is over, and when that is. Each list builds it anew, so no timer has to outlive the
 * agent (cluster K8, L10).
 */
export class ExpiryBook implements ReflectorSink {
  readonly #options: ExpiryBookOptions;
  /** By kind and uid: the server of another kind can reuse a uid. */
  readonly #known = new Map<string, Known>();
  readonly #due = new DueTimes();
  /** By kind: what the current list has not returned yet. */
  readonly #untold = new Map<string, Set<string>>();
  /** Kinds by name of which nobody has counted yet what other rules let go. */
  readonly #uncounted = new Set<string>();
  /** By kind, as it was counted last. */
  readonly #counted = new Map<string, { readonly serverMs: number; readonly share: Share }>();

  constructor(options: ExpiryBookOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#known.size;
  }

  /** Objects whose time is over by what the API server's clock shows at least, as many as a fact holds (cluster K4, L1). */
  take(serverMs: number): ExpiryBatch {
    const taken: ExpiryCandidate[] = [];
    const ofRules = new Map<string, ResourceKind>();
    let characters = 0;
    while (taken.length < MAX_EXPIRING && characters < LONG_FACT_CHARACTERS) {
      const known = this.#next(serverMs);
      if (known === null) break;
      const candidate = this.#candidate(known);
      taken.push(candidate);
      characters += JSON.stringify(candidate).length;
      if (known.ownEndMs !== null) ofRules.set(kindName(known.kind), known.kind);
    }
    const shares = [...ofRules].map(([kind, of]) => ({ kind, ...this.#share(kind, of, serverMs) }));
    return { candidates: taken, ...(shares.length > 0 && { shares }) };
  }

  /** What was told is due as if it had not been: something else may be decided of it. */
  tellAgain(): void {
    for (const [key, { dueAtMs }] of this.#known) this.#due.put(key, dueAtMs);
  }

  /** The next that is due, and may be told. */
  #next(serverMs: number): Known | null {
    for (let key = this.#due.take(serverMs); key !== null; key = this.#due.take(serverMs)) {
      const known = this.#known.get(key);
      if (known === undefined) continue;
      const isUncounted = known.ownEndMs !== null && this.#uncounted.has(kindName(known.kind));
      this.#due.put(key, serverMs + (isUncounted ? UNCOUNTED_AGAIN_AFTER_MS : AGAIN_AFTER_MS));
      if (!isUncounted) return known;
    }
    return null;
  }

  /** Other rules hold for the kind, and it will be listed for them: until then a part of it would be told as all that goes (cluster S11). */
  recount(kind: string): void {
    this.#uncounted.add(kind);
    this.#counted.delete(kind);
  }

  /** Of a moment ago: all that is known is counted for it. `null` while the kind is not counted, or where nothing of it is known. */
  shareOf(kind: string, serverMs: number): Share | null {
    if (this.#uncounted.has(kind)) return null;
    const before = this.#counted.get(kind);
    if (before !== undefined && Math.abs(serverMs - before.serverMs) < COUNT_HOLDS_MS) return before.share;
    const of = this.#kindOf(kind);
    if (of === undefined) return null;
    const share = this.#share(kind, of, serverMs);
    this.#counted.set(kind, { serverMs, share });
    return share;
  }

  #kindOf(kind: string): ResourceKind | undefined {
    for (const known of this.#known.values()) if (kindName(known.kind) === kind) return known.kind;
    return undefined;
  }

  #share(kind: string, of: ResourceKind, serverMs: number): Share {
    let over = 0;
    for (const known of this.#known.values())
      if (known.ownEndMs !== null && known.ownEndMs <= serverMs && kindName(known.kind) === kind) over++;
    return { over, objects: this.#options.countObjects(of) };
  }

  beginList(kind: ResourceKind): void {
    this.#untold.set(watchKey(kind), new Set(this.#keysOf(kind)));
  }

  listed(kind: ResourceKind, objects: readonly ObservedObject[]): void {
    for (const object of objects) {
      this.#untold.get(watchKey(kind))?.delete(keyOf(kind, object));
      this.put(kind, object);
    }
  }

  /** Only a list that was read to its end tells what is gone (cluster A14). */
  endList(kind: ResourceKind): void {
    for (const key of this.#untold.get(watchKey(kind)) ?? []) this.#forget(key);
    this.#untold.delete(watchKey(kind));
    this.#uncounted.delete(kindName(kind));
  }

  watched(): void {
    // Its list has told all that it knew.
  }

  /** What is put again as it was does not become due again (cluster K3, K7). */
  put(kind: ResourceKind, observed: ObservedObject): void {
    const key = keyOf(kind, observed);
    const known = knownExpiring(kind, observed, this.#options.rules(kind));
    if (known === null) {
      this.#forget(key);
      return;
    }
    const before = this.#known.get(key);
    this.#known.set(key, known);
    if (before === undefined || before.dueAtMs !== known.dueAtMs || before.keep !== known.keep)
      this.#due.put(key, known.dueAtMs);
  }

  gone(kind: ResourceKind, object: ObservedObject): void {
    this.#forget(keyOf(kind, object));
  }

  failed(kind: ResourceKind): void {
    this.#untold.delete(watchKey(kind));
  }

  /** The session ends, and with it all that it knows. */
  wentBack(): void {
    this.#untold.clear();
  }

  /** The kind is not served any more. */
  withdraw(kind: ResourceKind): void {
    this.#untold.delete(watchKey(kind));
    for (const key of this.#keysOf(kind)) this.#forget(key);
  }

  #keysOf(kind: ResourceKind): readonly string[] {
    const name = watchKey(kind);
    return [...this.#known].filter(([, known]) => watchKey(known.kind) === name).map(([key]) => key);
  }

  #forget(key: string): void {
    this.#known.delete(key);
    this.#due.remove(key);
  }

  #candidate({
    kind,
    object,
    keep,
    dueAtMs: _,
    ownEndMs: __,
    isControlled,
    jobUid,
    ...timed
  }: Known): ExpiryCandidate {
    const isInKept = object.namespace !== '' && this.#options.isKeptNamespace(object.namespace);
    const keptBy = keep ? 'object' : isInKept ? 'namespace' : null;
    return {
      object: { ...kind, ...object, keptBy },
      ...timed,
      ...(isControlled && { isControlled }),
      ...(jobUid !== null && { controllingJob: this.#options.jobState(jobUid) }),
    };
  }
}

const keyOf = (kind: ResourceKind, { uid }: Pick<ObservedObject, 'uid'>): string =>
  `${watchKey(kind)} ${uid}`;

/** An object whose time comes. */
interface Known extends Expiring {
  readonly kind: ResourceKind;
  readonly object: Omit<ExpiryCandidate['object'], keyof ResourceKind | 'keptBy'>;
  readonly keep: boolean;
  readonly isControlled: boolean;
  /** Of the Job that owns a pod; `null` where no Job does. */
  readonly jobUid: string | null;
  readonly dueAtMs: number;
  /** When it may go by its annotations or a rule of the policy; `null` for never. */
  readonly ownEndMs: number | null;
}

/** `null` for an object that nothing says to delete, or that is going already (cluster K1). */
function knownExpiring(
  kind: ResourceKind,
  observed: ObservedObject,
  rules: readonly OwnRule[],
): Known | null {
  const { expiring = null } = observed;
  if (expiring === null || observed.deletionTimestamp !== null) return null;
  const { namespace, name, uid, resourceVersion, deletionTimestamp, keep } = graphObject(kind, observed);
  const object = { namespace, name, uid, resourceVersion, deletionTimestamp };
  const controller = controllerOf(observed.ownerReferences);
  const jobUid =
    expiring.facts.of === 'Pod' && controller !== null && mayBeJob(controller) ? controller.uid : null;
  const timed = { ...expiring, isControlled: controller !== null };
  const candidate = { ...timed, object: { ...kind, ...object, keptBy: null } };
  // Which rules hold is decided by the policy: of all profiles the earliest counts here.
  const ownEndMs = earliest([annotatedEndMs(expiring), ruleEndMs(candidate, jobUid, rules)]);
  const dueAtMs = earliest([dueOf(expiring, 'fleetgc')?.atMs ?? null, ownEndMs]);
  return dueAtMs === null ? null : { ...timed, kind, object, keep, jobUid, dueAtMs, ownEndMs };
}

/** Of what no rule may delete nobody is told again and again. How far a Job is changes without a word of its pods. */
function ruleEndMs(
  candidate: ExpiryCandidate,
  jobUid: string | null,
  rules: readonly OwnRule[],
): number | null {
  const rule = ruleFor(candidate, rules);
  const asIfFinished: ExpiryCandidate =
    jobUid === null ? candidate : { ...candidate, controllingJob: 'finished' };
  return rule === undefined || forbiddenBecause(asIfFinished) !== null
    ? null
    : ownEndOf(rule, candidate).atMs;
}

function earliest(ends: readonly (number | null)[]): number | null {
  const told = ends.filter((each) => each !== null);
  return told.length === 0 ? null : Math.min(...told);
}

/** When something is due to be looked at. */
interface DueTime {
  readonly atMs: number;
  readonly key: string;
}

/** Keys by the time at which they are due, the earliest first: a heap in which what was put again leaves its old entry behind. */
export class DueTimes {
  readonly #heap: DueTime[] = [];
  readonly #current = new Map<string, number>();

  get size(): number {
    return this.#current.size;
  }

  /** The last time that was put for a key counts. */
  put(key: string, atMs: number): void {
    if (this.#current.get(key) === atMs) return;
    this.#current.set(key, atMs);
    this.#push({ key, atMs });
    if (this.#heap.length > 2 * this.#current.size + MOST_LEFT_BEHIND) this.#rebuild();
  }

  remove(key: string): void {
    this.#current.delete(key);
  }

  /** The key that is due first, which is taken out; `null` when none is due. */
  take(nowMs: number): string | null {
    for (let first = this.#heap[0]; first !== undefined && first.atMs <= nowMs; first = this.#heap[0]) {
      this.#pop();
      if (this.#current.get(first.key) !== first.atMs) continue;
      this.#current.delete(first.key);
      return first.key;
    }
    return null;
  }

  #push(entry: DueTime): void {
    const heap = this.#heap;
    let at = heap.push(entry) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(at, parent)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    heap[0] = last;
    for (let at = 0; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      let first = at;
      if (this.#isBefore(left, first)) first = left;
      if (this.#isBefore(right, first)) first = right;
      if (first === at) return;
      this.#swap(at, first);
      at = first;
    }
  }

  #rebuild(): void {
    this.#heap.length = 0;
    for (const [key, atMs] of this.#current) this.#push({ key, atMs });
  }

  #isBefore(one: number, other: number): boolean {
    const [first, second] = [this.#heap[one], this.#heap[other]];
    return first !== undefined && second !== undefined && first.atMs < second.atMs;
  }

  #swap(one: number, other: number): void {
    const [first, second] = [this.#heap[one], this.#heap[other]];
    if (first === undefined || second === undefined) return;
    this.#heap[one] = second;
    this.#heap[other] = first;
  }
}

/** Old entries beyond as many again are cleared away. */
const MOST_LEFT_BEHIND = 1_000;
