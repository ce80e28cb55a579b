import { FOREGROUND, kindName } from '../../schemas/events/cluster-objects.ts';
import { type CascadeRoot, type GraphObject, isDeletingWith, type OwnerReference } from './graph-object.ts';
import type { GraphView } from './graph-view.ts';
import { groupOf } from './kinds.ts';

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
