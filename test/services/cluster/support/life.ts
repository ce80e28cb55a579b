/** One life of agent and executor: they die together. */
export class Life {
  readonly stop = new AbortController();
  /** Facts that were acknowledged, writes that were answered, and results that were told. */
  steps = 0;
  #dies: { readonly at: number; readonly isAfter: boolean } | null;

  constructor(dies: Life['dies']) {
    this.#dies = dies;
  }

  get dies() {
    return this.#dies;
  }

  get isDead(): boolean {
    return this.#dies !== null && this.steps >= this.#dies.at;
  }

  kill(): void {
    this.#dies = { at: 0, isAfter: true };
  }

  /** What leaves the process, unless it is dead by then; what it is told of it, unless it is dead after it. */
  async step<Result>(effect: () => Result): Promise<Result> {
    if (this.isDead) return new Promise(() => undefined);
    this.steps++;
    if (this.isDead && this.#dies?.isAfter === false) return new Promise(() => undefined);
    const result = effect();
    return this.isDead ? new Promise(() => undefined) : result;
  }
}
