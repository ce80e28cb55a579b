import type { Share } from '../../../../packages/deciders/expiry-gc/rules/own-rules.ts';
import type { ResourceKind } from '../../../../packages/owner-graph/kinds.ts';
import { kindName } from '../../../../schemas/events/cluster-objects.ts';
import {
  type Expiry,
  type ExpiryCandidate,
  type JobState,
  MAX_EXPIRING,
} from '../../../../schemas/events/expiry.ts';
import type { OwnRule } from '../../../../schemas/policy/own-rule.ts';
import { watchKey } from '../kinds/served-kinds.ts';
import { LONG_FACT_CHARACTERS } from '../long-fact.ts';
import type { ObservedObject } from '../watching/observed-object.ts';
import type { ReflectorSink } from '../watching/reflector.ts';
import { DueTimes } from './due-times.ts';
import { type Known, knownExpiring } from './known-expiring.ts';

export interface ExpiryBookOptions {
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
