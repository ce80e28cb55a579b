import { evenChoice, type Random } from '../../sim/random.ts';

/** Choices of one seed. */
export class Choices {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** 0 <= number < `below`. */
  below(below: number): number {
    return Math.floor(this.#random() * below);
  }

  chance(share: number): boolean {
    return this.#random() < share;
  }

  /** Throws for an empty list. */
  of<T>(items: readonly T[]): T {
    const item = evenChoice(this.#random, items);
    if (item === undefined) throw new RangeError('nothing to choose from');
    return item;
  }

  /** The index of one, the heavier the more often. */
  weighed(weights: readonly number[]): number {
    let left = this.#random() * weights.reduce((sum, weight) => sum + weight, 0);
    const found = weights.findIndex((weight) => {
      left -= weight;
      return left < 0;
    });
    return Math.max(0, found);
  }
}
