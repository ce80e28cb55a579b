import TinyQueue from 'tinyqueue';

interface Entry {
  readonly key: string;
  readonly atMs: number;
  /** Of two with the same time, the one that came first. */
  readonly order: number;
}

/** Keys that wait for their time, each once (cluster F8). */
export class DelayedKeys {
  readonly #heap = new TinyQueue<Entry>([], (a, b) => a.atMs - b.atMs || a.order - b.order);
  /** What counts of each key; entries of the heap that are not this one are left over. */
  readonly #current = new Map<string, Entry>();
  #order = 0;

  get size(): number {
    return this.#current.size;
  }

  has(key: string): boolean {
    return this.#current.has(key);
  }

  /** The earlier time wins. */
  add(key: string, atMs: number): void {
    const waiting = this.#current.get(key);
    if (waiting !== undefined && waiting.atMs <= atMs) return;
    const entry = { key, atMs, order: this.#order++ };
    this.#current.set(key, entry);
    this.#heap.push(entry);
  }

  /** Keys whose time has come, in order of time. */
  takeDue(nowMs: number): readonly string[] {
    const due: string[] = [];
    for (let next = this.#first(); next !== undefined && next.atMs <= nowMs; next = this.#first()) {
      this.#heap.pop();
      this.#current.delete(next.key);
      due.push(next.key);
    }
    return due;
  }

  /** When the next one is due; `null` when none waits. */
  nextAtMs(): number | null {
    return this.#first()?.atMs ?? null;
  }

  #first(): Entry | undefined {
    for (let first = this.#heap.peek(); first !== undefined; first = this.#heap.peek()) {
      if (this.#current.get(first.key) === first) return first;
      this.#heap.pop();
    }
    return undefined;
  }
}
