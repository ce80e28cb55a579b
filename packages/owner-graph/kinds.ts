import type { ServedKind } from '../../schemas/events/cluster-objects.ts';

/** A kind of object as an API server serves it. One object of this type per kind: the graph keeps no copies. */
export type ResourceKind = Readonly<ServedKind>;

/** What an owner reference can be told of the kind that it names; `served` in the version that the reference has. */
export type KindState =
  /** Listed and watched; `synced` once a whole list was read. */
  | { readonly state: 'watched'; readonly served: ResourceKind; readonly synced: boolean }
  /** Served, and for so long it could not be listed: by missing rights or a broken conversion (cluster I8). */
  | { readonly state: 'unlisted'; readonly served: ResourceKind; readonly forMs: number }
  | { readonly state: 'unresolved'; readonly because: UnresolvedBecause };

export type UnresolvedBecause = 'not-served' | 'ambiguous' | 'group-failed';

/** By discovery, never by what objects say (cluster H2, I9). */
export interface Kinds {
  /** The kind by the words of a reference; any version that is served will do (cluster H5). */
  find(apiVersion: string, kind: string): KindState;
}

/** `apps` of `apps/v1`, and the empty core group of `v1`. */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? '' : apiVersion.slice(0, slash);
}

export const apiVersionOf = ({ group, version }: Pick<ResourceKind, 'group' | 'version'>): string =>
  group === '' ? version : `${group}/${version}`;

/** Whatever the version. */
export const isSameKind = (one: NamedKind, other: NamedKind): boolean =>
  one === other || (one.kind === other.kind && one.group === other.group);
type NamedKind = Pick<ResourceKind, 'group' | 'kind'>;
