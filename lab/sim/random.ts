/** Numbers in [0, 1), the same in every run with the same seed. */
export type Random = () => number;

/** mulberry32: small, and even enough for making up a node's life. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** One of `items`; the k-th is chosen 1/k times as often as the first (Zipf), as images on nodes are. */
export function zipfChoice<T>(random: Random, items: readonly [T, ...T[]]): T {
  const weights = items.map((_, rank) => 1 / (rank + 1));
  let left = random() * weights.reduce((total, weight) => total + weight, 0);
  for (const [rank, item] of items.entries()) {
    left -= weights[rank] ?? 0;
    if (left < 0) return item;
  }
  return items[0];
}

/** One of `items`, each as often as the others; `undefined` when there is none. */
export const evenChoice = <T>(random: Random, items: readonly T[]): T | undefined =>
  items[Math.floor(random() * items.length)];

/** A waiting time whose mean is `meanMs`, as between things that do not know of each other. */
export const exponentialMs = (random: Random, meanMs: number): number =>
  Math.round(-Math.log(1 - random()) * meanMs);

export const between = (random: Random, least: number, most: number): number =>
  Math.round(least + random() * (most - least));
