import { z } from 'zod';

/** One figure over the rounds of a run, or over its single measurements. */
export const Spread = z.object({ median: z.number(), lowest: z.number(), highest: z.number() }).readonly();
export type Spread = z.infer<typeof Spread>;

/** The smallest value that at least `percent` of the values do not exceed. Throws for no values at all. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)];
  if (value === undefined) throw new RangeError('nothing was measured');
  return value;
}

export const median = (values: readonly number[]): number => percentile(values, 50);

export const spreadOf = (values: readonly number[]): Spread => ({
  median: median(values),
  lowest: percentile(values, 0),
  highest: percentile(values, 100),
});

/** What each round would have said if it were the only one. */
export const spreadOfRounds = (
  rounds: readonly (readonly number[])[],
  figure: (values: readonly number[]) => number,
): Spread => spreadOf(rounds.map(figure));
