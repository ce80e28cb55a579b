import { type ClusterObject, kindName } from '../../schemas/events/cluster-objects.ts';
import type { ClusterPolicy } from '../../schemas/policy/cluster-policy.ts';

/** What a policy keeps in clusters (cluster S5). */
export interface KeepList {
  readonly namespaces: ReadonlySet<string>;
  readonly kinds: ReadonlySet<string>;
}

/** An object, and where the annotation was found that keeps it. */
export type Keepable = Pick<ClusterObject, 'group' | 'kind' | 'namespace' | 'name'> & {
  readonly keptBy: 'object' | 'namespace' | null;
};

const lists = new WeakMap<ClusterPolicy['keep'], KeepList>();

/** Made once for each policy. */
export function keepListOf(keep: ClusterPolicy['keep']): KeepList {
  const before = lists.get(keep);
  if (before !== undefined) return before;
  const made = { namespaces: new Set(keep.namespaces), kinds: new Set(keep.kinds) };
  lists.set(keep, made);
  return made;
}

const NAMESPACE = 'Namespace';

/** By what an annotation, or the list, keeps an object; `null` where neither does. */
export function keptBecause(object: Keepable, keep: KeepList): Readonly<Record<string, string>> | null {
  if (object.keptBy !== null) return { annotationOf: object.keptBy };
  const kind = kindName(object);
  // With a namespace goes all that lies in it.
  const namespace = kind === NAMESPACE ? object.name : object.namespace;
  if (keep.namespaces.has(namespace)) return { keptNamespace: namespace };
  return keep.kinds.has(kind) ? { keptKind: kind } : null;
}
