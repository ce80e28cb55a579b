import type { GraphView } from './graph-view.ts';

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

/** Counting ends here: no limit of a policy is higher. */
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
