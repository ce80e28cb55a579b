import { doubledName, type OpenNames } from '../../../../packages/records/parse/doubled-name.ts';

/**
 * The name of a member that stands twice in an object at this depth of a JSON text, `null` where none does. Whoever looked at the request
 * on its way may have read the other one. An object with more than `most` names is nothing that is read: it costs no more than the others.
 */
export const doubledMemberAt = (text: string, depth: number, most: number): string | null =>
  doubledName(text, new NamesAtDepth(depth, most));

/** The names of the object that is open at the depth. */
class NamesAtDepth implements OpenNames {
  readonly #depth: number;
  readonly #most: number;
  #level = 0;
  #names = new Set<string>();

  constructor(depth: number, most: number) {
    this.#depth = depth;
    this.#most = most;
  }

  step(step: number): void {
    this.#level += step;
    if (step > 0 && this.#level === this.#depth) this.#names = new Set();
  }

  isWatched(): boolean {
    return this.#level === this.#depth && this.#names.size <= this.#most;
  }

  add(name: string): boolean {
    const before = this.#names.size;
    return this.#names.add(name).size > before;
  }
}
