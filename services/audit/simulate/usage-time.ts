import type { FilesystemReading } from '../../../schemas/filesystem.ts';
import { believeUsage } from '../../shared/decision/filesystem-usage.ts';
import { usagePercent } from '../../shared/decision/usage-thresholds.ts';

/** Agents publish an inventory every 5 minutes at least: beyond this, nobody knows how full a disk was. */
const KNOWN_FOR_MS = 15 * 60_000;

/** How full imagefs is, rounded up as thresholds are compared (D6); `null` where no reading is believable. */
export function percentUsed(imagefs: FilesystemReading | null): number | null {
  const believed = believeUsage('imagefs', imagefs);
  return believed.kind === 'doubt' ? null : Number(usagePercent(believed.usage));
}

/** Adds up how long a disk was how full: what was known last is taken to hold until something newer is known. */
export function createUsageTime() {
  let last: Known | null = null;
  let peakPercent: number | null = null;
  let aboveMs = 0;
  let unknownMs = 0;

  const add = (spanMs: number, percent: number | null, threshold: number | null): void => {
    if (percent === null || spanMs > KNOWN_FOR_MS) unknownMs += spanMs;
    else if (threshold !== null && percent >= threshold) aboveMs += spanMs;
  };

  return {
    /** In the order of time. `threshold` is that of the time that ends here; `null` when there is none. */
    at: (atMs: number, percent: number | null, threshold: number | null): void => {
      if (last !== null) add(Math.max(0, atMs - last.atMs), last.percent, threshold);
      last = { atMs, percent };
      if (percent !== null) peakPercent = Math.max(peakPercent ?? percent, percent);
    },
    sums: () => ({ peakPercent, aboveMs, unknownMs }),
  };
}

interface Known {
  readonly atMs: number;
  readonly percent: number | null;
}
