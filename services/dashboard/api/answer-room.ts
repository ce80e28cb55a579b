/** A report of a large fleet has room, and what a page asks for besides. */
const MOST_HELD_BYTES = 64 * 1024 * 1024;

/**
 * Bytes of responses that each user has not read yet. A client that reads slowly, or not at all, could otherwise hold a report as
 * large as the fleet in memory for each of its connections.
 */
export class AnswerRoom {
  readonly #held = new Map<string, number>();

  /** Counted until the result is disposed of; `null`: too much is pending. A single response always has room. */
  begin(person: string, bytes: number): Disposable | null {
    const held = this.#held.get(person) ?? 0;
    if (held > 0 && held + bytes > MOST_HELD_BYTES) return null;
    this.#held.set(person, held + bytes);
    return { [Symbol.dispose]: () => this.#end(person, bytes) };
  }

  #end(person: string, bytes: number): void {
    const left = (this.#held.get(person) ?? 0) - bytes;
    if (left > 0) this.#held.set(person, left);
    else this.#held.delete(person);
  }
}
