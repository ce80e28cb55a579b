import type { Discovery } from '../../../../packages/kube-api/discovery.ts';
import {
  groupOf,
  type KindState,
  type Kinds,
  type ResourceKind,
} from '../../../../packages/owner-graph/kinds.ts';
import { isSurelyUnserved, referenceKey, type ServedKinds, servedKinds, watchKey } from './served-kinds.ts';

/** What a new discovery changes. */
export interface KindChanges {
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

export interface KindRegistryOptions {
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
