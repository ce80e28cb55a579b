import type { GoneHow } from '../../schemas/events/ownership.ts';
import type { GraphObject } from './graph-object.ts';
import type { ResourceKind } from './kinds.ts';
import type { OwnerIndex } from './owner-index.ts';

/** From so many objects on, a list that lacks half of them is doubted (cluster S3). */
const LEAST_FOR_MASS = 20;

/** One complete list of a kind, page by page. What it lacks is only known at its end (cluster A14). */
export class Listing {
  readonly #index: OwnerIndex;
  readonly #kind: ResourceKind;
  /** `null` at the first list of a kind, when nothing can be lacking. */
  readonly #before: Set<string> | null;
  readonly #total: number;

  constructor(index: OwnerIndex, kind: ResourceKind, isFirst: boolean) {
    this.#index = index;
    this.#kind = kind;
    this.#before = isFirst ? null : new Set(index.uidsOf(kind));
    this.#total = this.#before?.size ?? 0;
  }

  /** Returns as `OwnerIndex.put`. */
  put(object: GraphObject): readonly string[] {
    this.#before?.delete(object.uid);
    return this.#index.put(object);
  }

  /** The list is complete: returns the objects that are gone. */
  complete(): readonly GraphObject[] {
    const lacking = this.#before ?? new Set();
    const isMass = this.#total >= LEAST_FOR_MASS && lacking.size * 2 >= this.#total;
    const how: GoneHow = isMass ? 'mass-relisted' : 'relisted';
    return [...lacking].flatMap((uid) => this.#index.remove(uid, this.#kind, how) ?? []);
  }
}
