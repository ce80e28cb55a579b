import { FOREGROUND, kindName } from '../../schemas/events/cluster-objects.ts';
import { type CascadeRoot, type GraphObject, isDeletingWith, type OwnerReference } from './graph-object.ts';
import type { GraphView } from './graph-view.ts';
import { groupOf } from './kinds.ts';

/** References form rings too; no cascade that people look at is deeper. */
const MAX_DEPTH = 50;

/** Where the cascade began that takes this owner along: often it is its own. `null` for an owner that is there and stays. */
export function cascadeRoot(
  { uid, apiVersion, kind }: OwnerReference,
  graph: GraphView,
  depth = 0,
): CascadeRoot | null {
  const own = { uid, kind: kindName({ group: groupOf(apiVersion), kind }) };
  const owner = graph.get(uid);
  if (owner === undefined) return graph.gone.get(uid)?.within ?? own;
  if (!isDeletingWith(owner, FOREGROUND)) return null;
  return rootOfDependent(owner, graph, depth + 1) ?? own;
}

/** The one with which an object goes; `null` where an owner holds it, or its owners go with different ones. */
export function rootOfDependent(
  { references }: Pick<GraphObject, 'references'>,
  graph: GraphView,
  depth = 0,
): CascadeRoot | null {
  if (depth > MAX_DEPTH) return null;
  const roots = references.map((reference) => cascadeRoot(reference, graph, depth));
  const [first = null] = roots;
  return roots.every((root) => root !== null && root.uid === first?.uid) ? first : null;
}
