import { median } from '../bench/statistics.ts';

export interface Sample {
  /** Since the fleet came to work. */
  readonly atMs: number;
  readonly value: number;
}

/** By how much a figure may differ between the first quarter and the last one, whichever is more. */
export interface Tolerance {
  readonly ratio: number;
  readonly absolute: number;
}

export interface Verdict {
  /** The medians of the four quarters: what fills up to its bound grows less and less. */
  readonly quarters: readonly number[];
  readonly slopePerHour: number;
  readonly verdict: 'flat' | 'grows';
}

const HOUR_MS = 3_600_000;

/**
 * A figure grows when the median of its last quarter is above that of its first one by more than is tolerated: a few high
 * samples are no growth, a step that stays is. Throws for fewer than eight samples.
 */
export function verdictOf(samples: readonly Sample[], { ratio, absolute }: Tolerance): Verdict {
  if (samples.length < 8) throw new RangeError(`${samples.length} samples say nothing`);
  const size = Math.floor(samples.length / 4);
  const medianOf = (some: readonly Sample[]): number => median(some.map(({ value }) => value));
  const first = medianOf(samples.slice(0, size));
  const last = medianOf(samples.slice(-size));
  const between = [1, 2].map((quarter) => medianOf(samples.slice(quarter * size, (quarter + 1) * size)));
  const isGrowth = last - first > Math.max(absolute, ratio * first);
  return {
    quarters: [first, ...between, last],
    slopePerHour: slopeOf(samples) * HOUR_MS,
    verdict: isGrowth ? 'grows' : 'flat',
  };
}

/** The median of the slopes between all pairs (Theil and Sen): single samples that are far off do not move it. */
function slopeOf(samples: readonly Sample[]): number {
  const slopes = samples.flatMap((first, index) =>
    samples
      .slice(index + 1)
      .filter(({ atMs }) => atMs > first.atMs)
      .map((second) => (second.value - first.value) / (second.atMs - first.atMs)),
  );
  return slopes.length === 0 ? 0 : median(slopes);
}
