import type { ResourceKind } from '../../../packages/owner-graph/kinds.ts';
import { isResource, type ObservedObject } from './observed-object.ts';
import type { ReflectorSink } from './reflector.ts';

interface MirrorOptions<Row> {
  /** The kind that is followed; of all others nothing is kept. */
  readonly of: Pick<ResourceKind, 'group' | 'resource'>;
  /** What is kept of an object; `null` for one of which nothing may be concluded. */
  readonly rowOf: (kind: ResourceKind, object: ObservedObject) => Row | null;
}

/** What is kept of all objects of one kind, by uid, as lists and watches tell it. */
export class Mirror<Row> implements ReflectorSink {
  readonly #options: MirrorOptions<Row>;
  readonly #rows = new Map<string, Row>();
  /** Uids of the list that is being read. */
  #listing: Set<string> | null = null;
  #isSynced = false;

  constructor(options: MirrorOptions<Row>) {
    this.#options = options;
  }

  /** Whether it holds what a whole list told, and is told what happens after it. */
  get isSynced(): boolean {
    return this.#isSynced;
  }

  get size(): number {
    return this.#rows.size;
  }

  row(uid: string): Row | undefined {
    return this.#rows.get(uid);
  }

  rows(): MapIterator<Row> {
    return this.#rows.values();
  }

  beginList(kind: ResourceKind): void {
    if (this.#isOf(kind)) this.#listing = new Set();
  }

  listed(kind: ResourceKind, objects: readonly ObservedObject[]): void {
    if (!this.#isOf(kind)) return;
    for (const object of objects) {
      this.#listing?.add(object.uid);
      this.#put(kind, object);
    }
  }

  /** Only a list that was read to its end tells what is gone (cluster A14). */
  endList(kind: ResourceKind, isWatched: boolean): void {
    if (!this.#isOf(kind)) return;
    for (const uid of this.#rows.keys()) if (this.#listing?.has(uid) === false) this.#rows.delete(uid);
    this.#listing = null;
    this.#isSynced = isWatched;
  }

  watched(kind: ResourceKind): void {
    if (this.#isOf(kind)) this.#isSynced = true;
  }

  put(kind: ResourceKind, object: ObservedObject): void {
    if (this.#isOf(kind)) this.#put(kind, object);
  }

  gone(kind: ResourceKind, { uid }: ObservedObject): void {
    if (this.#isOf(kind)) this.#rows.delete(uid);
  }

  failed(kind: ResourceKind): void {
    if (this.#isOf(kind)) this.#isSynced = false;
  }

  /** The session ends, and with it all that it knows. */
  wentBack(): void {
    this.#isSynced = false;
  }

  #put(kind: ResourceKind, object: ObservedObject): void {
    const row = this.#options.rowOf(kind, object);
    if (row === null) this.#rows.delete(object.uid);
    else this.#rows.set(object.uid, row);
  }

  #isOf(kind: ResourceKind): boolean {
    return isResource(kind, this.#options.of);
  }
}
