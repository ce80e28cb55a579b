/**
 * A controller whose signal also aborts with any of some others, and that leaves nothing at them once it is disposed, has aborted,
 * or one of them has. `AbortSignal.any` leaves something at each signal for as long as that lives: where it lives as long as the
 * process, and is asked again and again, that is a leak.
 */
export class LinkedController implements Disposable {
  readonly #own = new AbortController();
  readonly #others: readonly AbortSignal[];

  constructor(...others: readonly AbortSignal[]) {
    this.#others = others;
    for (const other of others) other.addEventListener('abort', this.#follow);
    const aborted = others.find((other) => other.aborted);
    if (aborted !== undefined) this.abort(aborted.reason);
  }

  get signal(): AbortSignal {
    return this.#own.signal;
  }

  abort(reason?: unknown): void {
    this[Symbol.dispose]();
    this.#own.abort(reason);
  }

  /** From now on only `abort` aborts it. */
  [Symbol.dispose](): void {
    for (const other of this.#others) other.removeEventListener('abort', this.#follow);
  }

  readonly #follow = ({ currentTarget }: Event): void =>
    this.abort(currentTarget instanceof AbortSignal ? currentTarget.reason : undefined);
}
