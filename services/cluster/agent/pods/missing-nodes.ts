/** Since when nodes are missing that pods name (cluster J6). */
export class MissingNodes {
  readonly #sinceMs = new Map<string, number>();

  /** The names that are missing now; the others are back, or nobody names them any more. */
  note(names: ReadonlySet<string>, nowMs: number): void {
    for (const name of this.#sinceMs.keys()) if (!names.has(name)) this.#sinceMs.delete(name);
    for (const name of names) if (!this.#sinceMs.has(name)) this.#sinceMs.set(name, nowMs);
  }

  /** 0 for one that is not known to be missing. */
  forMs(name: string, nowMs: number): number {
    const sinceMs = this.#sinceMs.get(name);
    return sinceMs === undefined ? 0 : nowMs - sinceMs;
  }

  /** Nobody can tell: what is missing begins anew. */
  forget(): void {
    this.#sinceMs.clear();
  }
}
