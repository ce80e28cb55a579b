import { FOREGROUND, kindName } from '../../schemas/events/cluster-objects.ts';
import { type CascadeRoot, type GraphObject, isDeletingWith, type OwnerReference } from './graph-object.ts';
import { groupOf } from './kinds.ts';
import type { GraphView } from './reference-states.ts';

/** No cascade that people look at is deeper. */
const MAX_DEPTH = 50;
/** Owners, and references to them, that are looked at for one object: whoever may write references could name millions. */
const MAX_OWNERS = 1_000;
const MAX_LOOKED_AT = 10_000;

/**
 * Where the cascades began that take the owners of one object along: often each is its own. `null` for an owner that is there and
 * stays. What was found out for one of them counts for all.
 */
export function cascadeRoots(graph: GraphView): (reference: OwnerReference) => CascadeRoot | null {
  const search = new RootSearch(graph);
  return (reference) => search.ofOwner(reference, 0);
}

/** The one with which an object goes; `null` where an owner holds it, or its owners go with different ones. */
export const rootOfDependent = (
  object: Pick<GraphObject, 'references'>,
  graph: GraphView,
): CascadeRoot | null => new RootSearch(graph).ofDependent(object, 0);

/** Each owner is looked at once: references form rings, and ways through them double with each step. */
class RootSearch {
  readonly #graph: GraphView;
  /** By uid of an owner that waits for its dependents; one that is being looked at has none yet. */
  readonly #ofWaiting = new Map<string, CascadeRoot | null>();
  #lookedAt = 0;

  constructor(graph: GraphView) {
    this.#graph = graph;
  }

  ofOwner({ uid, apiVersion, kind, name }: OwnerReference, depth: number): CascadeRoot | null {
    const owner = this.#graph.get(uid);
    const gone = this.#graph.gone.get(uid);
    const seen = owner ?? gone;
    const own = {
      uid,
      kind: kindName({ group: groupOf(apiVersion), kind }),
      namespace: seen?.namespace ?? null,
      name: seen?.name ?? name,
    };
    if (owner === undefined) return gone?.within ?? own;
    if (!isDeletingWith(owner, FOREGROUND)) return null;
    return this.#ofWaitingOwner(owner, depth) ?? own;
  }

  ofDependent({ references }: Pick<GraphObject, 'references'>, depth: number): CascadeRoot | null {
    if (depth > MAX_DEPTH) return null;
    let common: CascadeRoot | null = null;
    for (const reference of references) {
      const root = ++this.#lookedAt > MAX_LOOKED_AT ? null : this.ofOwner(reference, depth);
      if (root === null || (common !== null && root.uid !== common.uid)) return null;
      common ??= root;
    }
    return common;
  }

  #ofWaitingOwner(owner: GraphObject, depth: number): CascadeRoot | null {
    const known = this.#ofWaiting.get(owner.uid);
    if (known !== undefined) return known;
    if (this.#ofWaiting.size >= MAX_OWNERS) return null;
    this.#ofWaiting.set(owner.uid, null);
    const root = this.ofDependent(owner, depth + 1);
    this.#ofWaiting.set(owner.uid, root);
    return root;
  }
}

/** How much a missing owner takes along at most. */
export interface CascadeWidth {
  /** Objects that can be reached from this owner. */
  readonly objects: number;
  /** Those of all missing owners of its kind, each counted once per owner. */
  readonly ofKind: number;
}

/** What a missing owner of this kind was said to take along. */
export interface ToldWidth {
  /** As `kindName` of the schemas writes it. */
  readonly kind: string;
  readonly objects: number;
}

interface Known extends ToldWidth {
  readonly direct: number;
}

/**
 * Counting ends here: no limit of a policy is higher.
 * @limit Dependents counted for one cascade.
 */
const MAX_WIDTH = 1_000_000;

/**
 * Widths as they were before anything went: what is left of a cascade is no reason to let the rest go, so the widest count of each
 * missing owner stays until nobody lists it any more (cluster S1).
 */
export class CascadeWidths {
  readonly #graph: GraphView;
  readonly #known = new Map<string, Known>();
  /** Of owners of which nobody who lists them was seen yet: their kinds may be read late. */
  readonly #told = new Map<string, ToldWidth>();
  readonly #ofKind = new Map<string, number>();

  constructor(graph: GraphView) {
    this.#graph = graph;
  }

  /** Of a missing owner of this kind; `kind` as `kindName` of the schemas writes it. */
  of(ownerUid: string, kind: string): CascadeWidth {
    const direct = this.#graph.countDependents(ownerUid);
    const known = this.#known.get(ownerUid);
    if (known === undefined || direct > known.direct) this.#count(ownerUid, kind, direct, known);
    const objects = this.#known.get(ownerUid)?.objects ?? 0;
    return { objects, ofKind: this.#ofKind.get(this.#known.get(ownerUid)?.kind ?? kind) ?? 0 };
  }

  /** As an earlier look counted it, before what is left of it was all there is. It counts once somebody lists the owner. */
  remember(ownerUid: string, { kind, objects }: ToldWidth): void {
    this.#told.set(ownerUid, { kind, objects });
  }

  /** The owner is back, or nobody lists it any more. */
  forget(ownerUid: string): void {
    this.#told.delete(ownerUid);
    const known = this.#known.get(ownerUid);
    if (known === undefined) return;
    this.#known.delete(ownerUid);
    this.#add(known.kind, -known.objects);
  }

  /** Forgets owners that nobody lists any more, or that are there again. */
  tidy(): void {
    for (const uid of [...this.#known.keys()])
      if (this.#graph.countDependents(uid) === 0 || this.#graph.get(uid) !== undefined) this.forget(uid);
    for (const uid of this.#told.keys()) if (this.#graph.get(uid) !== undefined) this.forget(uid);
  }

  #count(ownerUid: string, kind: string, direct: number, before: Known | undefined): void {
    const known = before ?? this.#told.get(ownerUid);
    const objects = Math.max(reachable(ownerUid, this.#graph), known?.objects ?? 0);
    const counted = known?.kind ?? kind;
    this.#told.delete(ownerUid);
    this.#known.set(ownerUid, { kind: counted, direct, objects });
    this.#add(counted, objects - (before?.objects ?? 0));
  }

  #add(kind: string, objects: number): void {
    const sum = (this.#ofKind.get(kind) ?? 0) + objects;
    if (sum > 0) this.#ofKind.set(kind, sum);
    else this.#ofKind.delete(kind);
  }
}

/** Never less than what can go: other owners that may hold an object are not looked at. */
function reachable(ownerUid: string, graph: GraphView): number {
  const seen = new Set<string>();
  const left = [ownerUid];
  for (let uid = left.pop(); uid !== undefined && seen.size < MAX_WIDTH; uid = left.pop()) {
    for (const dependent of graph.dependents(uid)) {
      if (seen.has(dependent.uid)) continue;
      seen.add(dependent.uid);
      left.push(dependent.uid);
    }
  }
  return seen.size;
}
