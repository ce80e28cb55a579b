import type { Expiring } from '../../../packages/kube-api/whole/expiring.ts';
import type { ResourceKind } from '../../../packages/owner-graph/kinds.ts';
import { kindName } from '../../../schemas/events/cluster-objects.ts';
import { type Expiry, type ExpiryCandidate, MAX_EXPIRING } from '../../../schemas/events/expiry.ts';
import { annotatedEndMs } from '../../expiry-gc/rules/annotated-end.ts';
import { dueOf } from '../../expiry-gc/rules/due.ts';
import { graphObject } from '../graph-object-of.ts';
import { watchKey } from '../kinds/served-kinds.ts';
import type { ObservedObject } from '../watching/observed-object.ts';
import type { ReflectorSink } from '../watching/reflector.ts';
import { DueTimes } from './due-times.ts';

export interface ExpiryBookOptions {
  /** Whether the namespace bears the annotation that keeps all in it (cluster S5). */
  isKeptNamespace(namespace: string): boolean;
  /** How many objects of the kind there are (cluster S11). */
  countObjects(kind: ResourceKind): number;
}

/** What is published at once. */
export type ExpiryBatch = Pick<Expiry, 'candidates' | 'annotated'>;

/** An object whose time comes. */
interface Known extends Expiring {
  readonly kind: ResourceKind;
  readonly object: Omit<ExpiryCandidate['object'], keyof ResourceKind | 'keptBy'>;
  readonly keep: boolean;
  readonly isControlled: boolean;
  readonly dueAtMs: number;
}

/** Published again after so long, so that what was lost or has expired heals. */
const AGAIN_AFTER_MS = 600_000;

/**
 * Objects that say by themselves when their time is over, and when that is. Each list builds it anew, so no timer has to outlive the
 * agent (cluster K8, L10).
 */
export class ExpiryBook implements ReflectorSink {
  readonly #options: ExpiryBookOptions;
  readonly #known = new Map<string, Known>();
  readonly #due = new DueTimes();
  /** By kind: uids that the list under way has not told yet. */
  readonly #untold = new Map<string, Set<string>>();

  constructor(options: ExpiryBookOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#known.size;
  }

  /** Objects whose time is over by what the API server's clock shows at least, as many as a fact holds (cluster K4, L1). */
  take(serverMs: number): ExpiryBatch {
    const taken: ExpiryCandidate[] = [];
    const annotated = new Map<string, ResourceKind>();
    while (taken.length < MAX_EXPIRING) {
      const uid = this.#due.take(serverMs);
      if (uid === null) break;
      const known = this.#known.get(uid);
      if (known === undefined) continue;
      this.#due.put(uid, serverMs + AGAIN_AFTER_MS);
      taken.push(this.#candidate(known));
      if (known.annotations !== undefined) annotated.set(kindName(known.kind), known.kind);
    }
    const shares = [...annotated].map(([kind, of]) => this.#share(kind, of, serverMs));
    return { candidates: taken, ...(shares.length > 0 && { annotated: shares }) };
  }

  #share(kind: string, of: ResourceKind, serverMs: number): NonNullable<Expiry['annotated']>[number] {
    let over = 0;
    for (const known of this.#known.values()) {
      const endMs = kindName(known.kind) === kind ? annotatedEndMs(known) : null;
      if (endMs !== null && endMs <= serverMs) over++;
    }
    return { kind, over, objects: this.#options.countObjects(of) };
  }

  beginList(kind: ResourceKind): void {
    this.#untold.set(watchKey(kind), new Set(this.#uidsOf(kind)));
  }

  listed(kind: ResourceKind, objects: readonly ObservedObject[]): void {
    for (const object of objects) {
      this.#untold.get(watchKey(kind))?.delete(object.uid);
      this.put(kind, object);
    }
  }

  /** Only a list that was read to its end tells what is gone (cluster A14). */
  endList(kind: ResourceKind): void {
    for (const uid of this.#untold.get(watchKey(kind)) ?? []) this.#forget(uid);
    this.#untold.delete(watchKey(kind));
  }

  /** What is put again as it was does not become due again (cluster K3, K7). */
  put(kind: ResourceKind, observed: ObservedObject): void {
    const known = knownOf(kind, observed);
    if (known === null) {
      this.#forget(observed.uid);
      return;
    }
    const before = this.#known.get(observed.uid);
    this.#known.set(observed.uid, known);
    if (before === undefined || before.dueAtMs !== known.dueAtMs || before.keep !== known.keep)
      this.#due.put(observed.uid, known.dueAtMs);
  }

  gone(_kind: ResourceKind, { uid }: ObservedObject): void {
    this.#forget(uid);
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
    for (const uid of this.#uidsOf(kind)) this.#forget(uid);
  }

  #uidsOf(kind: ResourceKind): readonly string[] {
    const key = watchKey(kind);
    return [...this.#known].filter(([, known]) => watchKey(known.kind) === key).map(([uid]) => uid);
  }

  #forget(uid: string): void {
    this.#known.delete(uid);
    this.#due.remove(uid);
  }

  #candidate({ kind, object, keep, dueAtMs: _, isControlled, ...timed }: Known): ExpiryCandidate {
    const isInKept = object.namespace !== '' && this.#options.isKeptNamespace(object.namespace);
    const keptBy = keep ? 'object' : isInKept ? 'namespace' : null;
    return { object: { ...kind, ...object, keptBy }, ...timed, ...(isControlled && { isControlled }) };
  }
}

/** `null` for an object that nothing says to delete, or that is going already (cluster K1). */
function knownOf(kind: ResourceKind, observed: ObservedObject): Known | null {
  const { expiring = null } = observed;
  if (expiring === null || observed.deletionTimestamp !== null) return null;
  // Which rules hold is decided by the policy: of all profiles the earliest counts here.
  const ends = [dueOf(expiring, 'fleetgc')?.atMs ?? null, annotatedEndMs(expiring)];
  const dueAtMs = Math.min(...ends.filter((each) => each !== null));
  if (dueAtMs === Number.POSITIVE_INFINITY) return null;
  const isControlled = observed.ownerReferences.some(({ controller }) => controller);
  const { namespace, name, uid, resourceVersion, deletionTimestamp, keep } = graphObject(kind, observed);
  const object = { namespace, name, uid, resourceVersion, deletionTimestamp };
  return { ...expiring, kind, object, keep, isControlled, dueAtMs };
}
