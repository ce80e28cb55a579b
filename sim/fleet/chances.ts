import type { Random } from '../life/random.ts';

/** A waiting time whose mean is `meanMs`, as between things that do not know of each other. */
export const exponentialMs = (random: Random, meanMs: number): number =>
  Math.round(-Math.log(1 - random()) * meanMs);

export const between = (random: Random, least: number, most: number): number =>
  Math.round(least + random() * (most - least));
