/** A kind of object as an API server serves it. One object of this type per kind: the graph keeps no copies. */
export interface ResourceKind {
  /** Empty for the core group. */
  readonly group: string;
  /** The version under which it is listed and watched. */
  readonly version: string;
  readonly kind: string;
  /** As in paths: `replicasets`. */
  readonly resource: string;
  readonly namespaced: boolean;
}

/** What an owner reference can be told of the kind that it names. */
export type KindState =
  /** Listed and watched; `synced` once a whole list was read. */
  | { readonly state: 'watched'; readonly namespaced: boolean; readonly synced: boolean }
  /** Served, and for so long it could not be listed: by missing rights or a broken conversion (cluster I8). */
  | { readonly state: 'unlisted'; readonly namespaced: boolean; readonly forMs: number }
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

/** Tells kinds apart, whatever the version: `apps/ReplicaSet`. */
export const kindName = ({ group, kind }: Pick<ResourceKind, 'group' | 'kind'>): string =>
  group === '' ? kind : `${group}/${kind}`;
