/** When something is due to be looked at. */
interface DueTime {
  readonly atMs: number;
  readonly key: string;
}

/** Keys by the time at which they are due, the earliest first: a heap in which what was put again leaves its old entry behind. */
export class DueTimes {
  readonly #heap: DueTime[] = [];
  readonly #current = new Map<string, number>();

  get size(): number {
    return this.#current.size;
  }

  /** The last time that was put for a key counts. */
  put(key: string, atMs: number): void {
    if (this.#current.get(key) === atMs) return;
    this.#current.set(key, atMs);
    this.#push({ key, atMs });
    if (this.#heap.length > 2 * this.#current.size + MOST_LEFT_BEHIND) this.#rebuild();
  }

  remove(key: string): void {
    this.#current.delete(key);
  }

  /** The key that is due first, which is taken out; `null` when none is due. */
  take(nowMs: number): string | null {
    for (let first = this.#heap[0]; first !== undefined && first.atMs <= nowMs; first = this.#heap[0]) {
      this.#pop();
      if (this.#current.get(first.key) !== first.atMs) continue;
      this.#current.delete(first.key);
      return first.key;
    }
    return null;
  }

  #push(entry: DueTime): void {
    const heap = this.#heap;
    let at = heap.push(entry) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(at, parent)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    heap[0] = last;
    for (let at = 0; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      let first = at;
      if (this.#isBefore(left, first)) first = left;
      if (this.#isBefore(right, first)) first = right;
      if (first === at) return;
      this.#swap(at, first);
      at = first;
    }
  }

  #rebuild(): void {
    this.#heap.length = 0;
    for (const [key, atMs] of this.#current) this.#push({ key, atMs });
  }

  #isBefore(one: number, other: number): boolean {
    const [first, second] = [this.#heap[one], this.#heap[other]];
    return first !== undefined && second !== undefined && first.atMs < second.atMs;
  }

  #swap(one: number, other: number): void {
    const [first, second] = [this.#heap[one], this.#heap[other]];
    if (first === undefined || second === undefined) return;
    this.#heap[one] = second;
    this.#heap[other] = first;
  }
}

/** Old entries beyond as many again are cleared away. */
const MOST_LEFT_BEHIND = 1_000;
