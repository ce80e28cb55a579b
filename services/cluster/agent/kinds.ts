import type { DiscoveredGroup, DiscoveredResource, Discovery } from '../../../packages/kube-api/discovery.ts';
import type { GraphObject } from '../../../packages/owner-graph/graph-object.ts';
import {
  apiVersionOf,
  groupOf,
  isSameKind,
  type KindState,
  type Kinds,
  type ResourceKind,
} from '../../../packages/owner-graph/kinds.ts';
import { Listing, type OwnerIndex } from '../../../packages/owner-graph/owner-index.ts';
import { kindName } from '../../../schemas/events/cluster-objects.ts';

/** What a new discovery changes. */
interface KindChanges {
  readonly added: readonly ResourceKind[];
  /** Not served any more, and not defined either. */
  readonly withdrawn: readonly ResourceKind[];
  /** Watched from now on in another version. */
  readonly moved: readonly ResourceKind[];
}

interface Watched {
  readonly kind: ResourceKind;
  readonly synced: boolean;
  /** Why it cannot be listed, and since when. */
  readonly failing: { readonly sinceMs: number; readonly reason: string } | null;
}

interface KindRegistryOptions {
  /** Milliseconds that only grow. */
  readonly nowMs: () => number;
  /** Whether objects say that the kind is defined still: its definition, or the service of its group. */
  readonly isDefined: (kind: ResourceKind) => boolean;
}

const NOTHING: KindChanges = { added: [], withdrawn: [], moved: [] };

/**
 * Which kinds are watched, and what is known of each. What discovery does not tell stays as it was, until it is sure that it is
 * not served any more: an empty or partial answer withdraws nothing (cluster I2, I3, I9).
 */
export class KindRegistry implements Kinds {
  readonly #options: KindRegistryOptions;
  readonly #watched = new Map<string, Watched>();
  /** Since when each kind was served that cannot be listed at all. */
  readonly #unlistableSinceMs = new Map<string, number>();
  #served: ServedKinds = {
    collectable: new Map(),
    byReference: new Map(),
    failedGroups: new Set(),
    groups: new Set(),
  };

  constructor(options: KindRegistryOptions) {
    this.#options = options;
  }

  get watched(): readonly ResourceKind[] {
    return [...this.#watched.values()].map(({ kind }) => kind);
  }

  get failedGroups(): readonly string[] {
    return [...this.#served.failedGroups].toSorted();
  }

  /** Kinds of which nothing is concluded, and why. */
  get unsynced(): readonly { readonly kind: ResourceKind; readonly reason: string }[] {
    return [...this.#watched.values()]
      .filter(({ synced, failing }) => !synced || failing !== null)
      .map(({ kind, failing }) => ({ kind, reason: failing?.reason ?? 'its first list is not whole yet' }));
  }

  /** Every kind was listed whole at least once, or failed to be. */
  get isSettled(): boolean {
    return [...this.#watched.values()].every(({ synced, failing }) => synced || failing !== null);
  }

  /** Takes over what discovery told. */
  update(discovery: Pick<Discovery, 'groups'>): KindChanges {
    const served = servedKinds(discovery.groups);
    // The core group is always there: without it the answer is none.
    if (!served.groups.has('') || served.collectable.size === 0) return NOTHING;
    this.#served = served;
    const added = [...served.collectable].filter(([key]) => !this.#watched.has(key));
    const moved = [...served.collectable].filter(([key, kind]) => this.#isMoved(key, kind));
    const withdrawn = [...this.#watched].filter(([key, { kind }]) => this.#isWithdrawn(key, kind));
    for (const [key, kind] of [...added, ...moved])
      this.#watched.set(key, { kind, synced: false, failing: null });
    for (const [key] of withdrawn) this.#watched.delete(key);
    this.#noteUnlistable();
    return {
      added: added.map(([, kind]) => kind),
      withdrawn: withdrawn.map(([, { kind }]) => kind),
      moved: moved.map(([, kind]) => kind),
    };
  }

  /** A whole list of it was read. Returns whether nothing could be concluded of it before. */
  synced(kind: ResourceKind): boolean {
    const isNews = this.unsynced.some((each) => each.kind === kind);
    this.#change(kind, (watched) => ({ ...watched, synced: true, failing: null }));
    return isNews;
  }

  /** It could not be listed; the first failure counts. Returns whether this is the first one. */
  failed(kind: ResourceKind, reason: string): boolean {
    const sinceMs = this.#options.nowMs();
    const isFirst = this.#watched.get(watchKey(kind))?.failing === null;
    this.#change(kind, (watched) => ({
      ...watched,
      failing: { sinceMs: watched.failing?.sinceMs ?? sinceMs, reason },
    }));
    return isFirst;
  }

  find(apiVersion: string, kind: string): KindState {
    const served = this.#served.byReference.get(referenceKey(apiVersion, kind));
    if (this.#served.failedGroups.has(groupOf(apiVersion)))
      return { state: 'unresolved', because: 'group-failed' };
    if (served === undefined) return { state: 'unresolved', because: 'not-served' };
    if (served === 'ambiguous') return { state: 'unresolved', because: 'ambiguous' };
    return this.#stateOf(served);
  }

  /** Whether the last answer was whole and the kind is not served, nor watched still (cluster S17). */
  isUnserved(kind: ResourceKind): boolean {
    return !this.#watched.has(watchKey(kind)) && isSurelyUnserved(this.#served, kind);
  }

  #stateOf(served: ResourceKind): KindState {
    const watched = this.#watched.get(watchKey(served));
    const sinceMs =
      watched === undefined ? this.#unlistableSinceMs.get(watchKey(served)) : watched.failing?.sinceMs;
    if (sinceMs !== undefined) return { state: 'unlisted', served, forMs: this.#options.nowMs() - sinceMs };
    return { state: 'watched', served, synced: watched?.synced ?? false };
  }

  #isMoved(key: string, kind: ResourceKind): boolean {
    const before = this.#watched.get(key)?.kind;
    if (before === undefined || this.#served.failedGroups.has(kind.group)) return false;
    return (
      before.version !== kind.version || before.kind !== kind.kind || before.namespaced !== kind.namespaced
    );
  }

  #isWithdrawn(key: string, kind: ResourceKind): boolean {
    if (this.#served.collectable.has(key) || this.#served.failedGroups.has(kind.group)) return false;
    return !this.#options.isDefined(kind);
  }

  /** Kinds that are served, and have no lists: owners of them can only be read. */
  #noteUnlistable(): void {
    const unlistable = new Set<string>();
    for (const kind of this.#served.byReference.values()) {
      if (kind === 'ambiguous' || this.#watched.has(watchKey(kind))) continue;
      unlistable.add(watchKey(kind));
      if (!this.#unlistableSinceMs.has(watchKey(kind)))
        this.#unlistableSinceMs.set(watchKey(kind), this.#options.nowMs());
    }
    for (const key of [...this.#unlistableSinceMs.keys()])
      if (!unlistable.has(key)) this.#unlistableSinceMs.delete(key);
  }

  #change(kind: ResourceKind, change: (watched: Watched) => Watched): void {
    const watched = this.#watched.get(watchKey(kind));
    if (watched !== undefined && watched.kind === kind) this.#watched.set(watchKey(kind), change(watched));
  }
}

/** What discovery says, as the graph needs it. */
export interface ServedKinds {
  /** Preferred versions of all that can be listed, watched and deleted, by `watchKey` (cluster I1). */
  readonly collectable: ReadonlyMap<string, ResourceKind>;
  /** Every kind in every version, by `referenceKey`; `ambiguous` where two resources have one kind. */
  readonly byReference: ReadonlyMap<string, ResourceKind | 'ambiguous'>;
  /** Groups of which a version was not told by whoever serves it (cluster I3). */
  readonly failedGroups: ReadonlySet<string>;
  /** All groups that were told. */
  readonly groups: ReadonlySet<string>;
}

/** Tells what is watched apart: one resource of a group, whatever its version. */
export const watchKey = ({ group, resource }: Pick<ResourceKind, 'group' | 'resource'>): string =>
  `${group}/${resource}`;
export const referenceKey = (apiVersion: string, kind: string): string => `${apiVersion} ${kind}`;

const NEEDED = ['list', 'watch', 'delete'] as const;
/** Events are records of what happened, and nobody's owners or dependents (cluster N9). */
const IGNORED: ReadonlySet<string> = new Set(['/events', 'events.k8s.io/events']);

export function servedKinds(groups: readonly DiscoveredGroup[]): ServedKinds {
  const collectable = new Map<string, ResourceKind>();
  const byReference = new Map<string, ResourceKind | 'ambiguous'>();
  const seen = new Set<string>();
  for (const resource of resourcesOf(groups)) {
    const kind = kindOf(resource);
    const reference = referenceKey(apiVersionOf(kind), kind.kind);
    byReference.set(reference, byReference.has(reference) ? 'ambiguous' : kind);
    const key = watchKey(kind);
    if (seen.has(key)) continue;
    seen.add(key);
    if (!IGNORED.has(key) && NEEDED.every((verb) => resource.verbs.includes(verb)))
      collectable.set(key, kind);
  }
  const failed = groups.filter(({ versions }) => versions.some(({ isStale }) => isStale));
  return {
    collectable,
    byReference,
    failedGroups: new Set(failed.map(({ group }) => group)),
    groups: new Set(groups.map(({ group }) => group)),
  };
}

/** Kinds of definitions, and of services that stand for aggregated APIs: without both nothing is known of what is not served. */
const DEFINING = [
  referenceKey('apiextensions.k8s.io/v1', 'CustomResourceDefinition'),
  referenceKey('apiregistration.k8s.io/v1', 'APIService'),
] as const;

/**
 * Whether the API server told all that it serves, and in no version of its group is the kind, or another one in its place. An answer
 * that is empty or partial, or in which any group failed, tells of nothing that it is not served (cluster S17).
 */
export function isSurelyUnserved(
  { byReference, failedGroups, groups }: ServedKinds,
  { group, kind, resource }: Pick<ResourceKind, 'group' | 'kind' | 'resource'>,
): boolean {
  if (failedGroups.size > 0 || !groups.has('') || !DEFINING.every((key) => byReference.has(key)))
    return false;
  return [...byReference].every(([key, served]) =>
    served === 'ambiguous'
      ? !key.startsWith(`${group}/`)
      : served.group !== group || (served.kind !== kind && served.resource !== resource),
  );
}

/** Of all versions, the preferred one of a group first. What names no kind is not served. */
const resourcesOf = (groups: readonly DiscoveredGroup[]): readonly DiscoveredResource[] =>
  groups.flatMap(({ versions }) =>
    versions.flatMap(({ resources }) => resources.filter(({ kind }) => kind !== '')),
  );

const kindOf = ({ group, version, kind, resource, namespaced }: DiscoveredResource): ResourceKind => ({
  group,
  version,
  kind,
  resource,
  namespaced,
});

const CRD = { group: 'apiextensions.k8s.io', kind: 'CustomResourceDefinition' } as const;
const API_SERVICE = { group: 'apiregistration.k8s.io', kind: 'APIService' } as const;

interface Definition {
  readonly uid: string;
  readonly isBeingDeleted: boolean;
}

/** Of definitions that went so many are remembered, the latest. */
const MOST_WENT = 10_000;

/** Objects that define other kinds, as the graph knows them. */
export class Definitions {
  /** By name, `<resource>.<group>`. */
  readonly #definitions = new Map<string, Definition>();
  /** Names of definitions that went, or are about to, until objects of another one were listed. */
  readonly #went = new Set<string>();
  /** When the watch told that a definition was deleted under whose name none is known since, in milliseconds that only grow. */
  readonly #deletedAtMs = new Map<string, number>();
  /** `<version>.<group>`. */
  readonly #services = new Set<string>();

  /** Whether the object defines kinds, so that what is served may have changed (cluster I2). */
  static isDefining = ({ kind }: GraphObject): boolean =>
    isSameKind(kind, CRD) || isSameKind(kind, API_SERVICE);

  /** Returns whether a kind is going since (cluster S3). */
  put({ kind, name, uid, deletionTimestamp }: GraphObject): boolean {
    if (isSameKind(kind, API_SERVICE)) this.#services.add(name);
    return isSameKind(kind, CRD) && this.#define(name, { uid, isBeingDeleted: deletionTimestamp !== null });
  }

  /** `deletedAtMs`: when the watch told of its deletion; `null` where it only left. Returns whether a kind is going since (cluster S3). */
  gone({ kind, name, uid }: GraphObject, deletedAtMs: number | null): boolean {
    if (isSameKind(kind, API_SERVICE)) this.#services.delete(name);
    return isSameKind(kind, CRD) && this.#undefine(name, uid, deletedAtMs);
  }

  /** The definition of the kind, by its uid; `null` where none is known. */
  uidOf(kind: ResourceKind): string | null {
    return this.#definitions.get(definitionOf(kind))?.uid ?? null;
  }

  /** The kind was listed whole, and this definition was there before: what is told of it from now on is none of an earlier one's. */
  listed(kind: ResourceKind, definitionUid: string | null): void {
    const name = definitionOf(kind);
    const definition = this.#definitions.get(name);
    if (definition?.isBeingDeleted === false && definition.uid === definitionUid) this.#went.delete(name);
  }

  /** Whether objects say that a kind is there which discovery does not tell (cluster I9). */
  isDefined(kind: ResourceKind): boolean {
    const { group, version } = kind;
    if (this.#definitions.has(definitionOf(kind))) return true;
    // No service stands for the group of services itself.
    return isSameKind(kind, API_SERVICE) ? this.#services.size > 0 : this.#isServedByOthers(version, group);
  }

  /**
   * The definition of the kind is being deleted or was, and its objects with it (cluster S3). The watch of the kind may tell of them
   * later than the watch of definitions tells that theirs is gone, or that another one is there.
   */
  isGoing(kind: ResourceKind): boolean {
    return this.#went.has(definitionOf(kind));
  }

  /** When the watch told that the definition of the kind was deleted; `null` where it did not, and where another one is there (cluster S17). */
  deletedAtMs(kind: ResourceKind): number | null {
    return this.#deletedAtMs.get(definitionOf(kind)) ?? null;
  }

  #define(name: string, definition: Definition): boolean {
    this.#deletedAtMs.delete(name);
    const before = this.#definitions.get(name);
    const isAnother = before !== undefined && before.uid !== definition.uid;
    this.#definitions.set(name, definition);
    return (definition.isBeingDeleted || isAnother) && this.#noteWent(name);
  }

  /** Under its name another one may be by now. */
  #undefine(name: string, uid: string, deletedAtMs: number | null): boolean {
    if (this.#definitions.get(name)?.uid !== uid) return false;
    this.#definitions.delete(name);
    if (deletedAtMs !== null) this.#noteDeleted(name, deletedAtMs);
    return this.#noteWent(name);
  }

  #noteDeleted(name: string, atMs: number): void {
    this.#deletedAtMs.set(name, atMs);
    const [oldest] = this.#deletedAtMs.keys();
    if (this.#deletedAtMs.size > MOST_WENT && oldest !== undefined) this.#deletedAtMs.delete(oldest);
  }

  #noteWent(name: string): boolean {
    if (this.#went.has(name)) return false;
    this.#went.add(name);
    const [oldest] = this.#went;
    if (this.#went.size > MOST_WENT && oldest !== undefined) this.#went.delete(oldest);
    return true;
  }

  /** Services also stand for groups of definitions; those of which one is known are asked by its name. */
  #isServedByOthers(version: string, group: string): boolean {
    const hasDefinitions = [...this.#definitions.keys()].some((name) => name.endsWith(`.${group}`));
    return !hasDefinitions && this.#services.has(`${version}.${group}`);
  }
}

const definitionOf = ({ resource, group }: ResourceKind): string => `${resource}.${group}`;

interface Begun {
  readonly listing: Listing;
  /** The definition of the kind when the list began; `null` for a kind without one. */
  readonly definitionUid: string | null;
}

/** Lists under way, one of each kind. */
export class Listings {
  readonly #index: OwnerIndex;
  readonly #definitions: Definitions;
  readonly #begun = new Map<ResourceKind, Begun>();
  readonly #listedOnce = new Set<string>();

  constructor(index: OwnerIndex, definitions: Definitions) {
    this.#index = index;
    this.#definitions = definitions;
  }

  begin(kind: ResourceKind): void {
    const listing = new Listing(this.#index, kind, !this.#listedOnce.has(kindName(kind)));
    this.#begun.set(kind, { listing, definitionUid: this.#definitions.uidOf(kind) });
  }

  /** `undefined` where none is under way. */
  of(kind: ResourceKind): Listing | undefined {
    return this.#begun.get(kind)?.listing;
  }

  /** It is whole: `noteGone` is told of what it lacks before the kind counts as that of the definition that is there (cluster S3). */
  end(kind: ResourceKind, noteGone: (gone: readonly GraphObject[]) => void): void {
    const begun = this.#begun.get(kind);
    noteGone(begun?.listing.complete() ?? []);
    this.#definitions.listed(kind, begun?.definitionUid ?? null);
    this.#begun.delete(kind);
    this.#listedOnce.add(kindName(kind));
  }

  failed(kind: ResourceKind): void {
    this.#begun.delete(kind);
  }

  /** The next list of it will be its first. */
  withdraw(kind: ResourceKind): void {
    this.#listedOnce.delete(kindName(kind));
  }
}
