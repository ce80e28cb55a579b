import type { ApiKind, ApiObjectName } from '../../../packages/kube-api/resources.ts';
import { compareText } from '../../../schemas/events/text-order.ts';
import type { ApiObject } from './objects.ts';

export type ChangeType = 'ADDED' | 'MODIFIED' | 'DELETED';

export interface Change {
  readonly type: ChangeType;
  readonly kind: ApiKind;
  /** With the resourceVersion of the change; what was deleted is as it was before. */
  readonly object: ApiObject;
  readonly version: number;
}

/** All objects at one moment. */
export interface Saved {
  readonly objects: ReadonlyMap<string, { readonly kind: ApiKind; readonly object: ApiObject }>;
  readonly version: number;
}

/** Older changes are forgotten, as a real server forgets them. */
const MAX_CHANGES = 10_000;
/** As of an etcd that has lived a while: what came before the first change is not known. */
const FIRST_VERSION = 1_000;

/** All objects of a cluster, with one count of versions for all kinds. */
export class ObjectStore {
  #objects = new Map<string, { readonly kind: ApiKind; readonly object: ApiObject }>();
  readonly #listeners = new Set<(change: Change) => void>();
  #changes: Change[] = [];
  #oldest = FIRST_VERSION;
  #version = FIRST_VERSION;

  get version(): number {
    return this.#version;
  }

  get(kind: ApiKind, named: ApiObjectName): ApiObject | undefined {
    return this.#objects.get(keyOf(kind, named))?.object;
  }

  /** In the order of their keys. `namespace`: `null` for all. */
  list(kind: ApiKind, namespace: string | null): readonly ApiObject[] {
    return [...this.#objects]
      .filter(([, each]) => each.kind === kind && isIn(each.object, namespace))
      .toSorted(([a], [b]) => compareText(a, b))
      .map(([, { object }]) => object);
  }

  /** Gives back the object in its new version. */
  put(kind: ApiKind, object: ApiObject): ApiObject {
    const key = keyOf(kind, nameOf(object));
    const type = this.#objects.has(key) ? 'MODIFIED' : 'ADDED';
    const written = this.#next(object);
    this.#objects.set(key, { kind, object: written });
    this.#tell(type, kind, written);
    return written;
  }

  remove(kind: ApiKind, object: ApiObject): void {
    this.#objects.delete(keyOf(kind, nameOf(object)));
    this.#tell('DELETED', kind, this.#next(object));
  }

  save(): Saved {
    return { objects: new Map(this.#objects), version: this.#version };
  }

  /** As an etcd that was restored from a snapshot: also versions go back, and nothing is known of what came before. */
  restore({ objects, version }: Saved): void {
    this.#objects = new Map(objects);
    this.#version = version;
    this.#changes = [];
    this.#oldest = version;
  }

  /** What happened after this version; `null` where that is not known any more. */
  changesAfter(version: number): readonly Change[] | null {
    return version < this.#oldest ? null : this.#changes.filter((each) => each.version > version);
  }

  onChange(listener: (change: Change) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  #next(object: ApiObject): ApiObject {
    const resourceVersion = String(++this.#version);
    return { ...object, metadata: { ...object.metadata, resourceVersion } };
  }

  #tell(type: ChangeType, kind: ApiKind, object: ApiObject): void {
    const change = { type, kind, object, version: this.#version };
    this.#changes.push(change);
    if (this.#changes.length > 2 * MAX_CHANGES) this.#changes = this.#changes.slice(-MAX_CHANGES);
    this.#oldest = Math.max(this.#oldest, (this.#changes[0]?.version ?? 0) - 1);
    for (const listener of this.#listeners) listener(change);
  }
}

export const nameOf = ({ metadata: { namespace = '', name } }: ApiObject): ApiObjectName => ({
  namespace,
  name,
});

export const isIn = ({ metadata }: ApiObject, namespace: string | null): boolean =>
  namespace === null || metadata.namespace === namespace;

const keyOf = ({ group, resource }: ApiKind, { namespace, name }: ApiObjectName): string =>
  `${group}/${resource}/${namespace}/${name}`;
