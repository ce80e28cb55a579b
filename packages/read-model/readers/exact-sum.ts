/** Of whole numbers, and exact at any size. To add big integers takes ten times as long, so they hold only what numbers cannot. */
export class ExactSum {
  #beyond = 0n;
  #sum = 0;

  add(value: number): void {
    if (this.#sum > Number.MAX_SAFE_INTEGER - value) {
      this.#beyond += BigInt(this.#sum);
      this.#sum = 0;
    }
    this.#sum += value;
  }

  get total(): bigint {
    return this.#beyond + BigInt(this.#sum);
  }
}
