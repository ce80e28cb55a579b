import type { FilesystemReading } from '../../../schemas/events/filesystem.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import {
  believeInodes,
  believeUsage,
  isUsageGcOff,
  usagePercent,
  usedInodesPercent,
} from '../../decision/thresholds/filesystem-usage.ts';

/** Agents publish an inventory every 5 minutes at least: beyond this, nobody knows how full a disk was. */
const KNOWN_FOR_MS = 15 * 60_000;

interface Known {
  readonly atMs: number;
  /** `null` where no reading is believable. */
  readonly percent: number | null;
  readonly isAbove: boolean;
}

/** Adds up how long a disk was how full: a reading is taken to hold until a newer one, and no longer than that. */
export function createUsageTime() {
  let last: Known | null = null;
  let peakPercent: number | null = null;
  let aboveMs = 0;
  let unknownMs = 0;
  let observedMs = 0;

  const add = (spanMs: number, before: Known): void => {
    const knownMs = before.percent === null ? 0 : Math.min(spanMs, KNOWN_FOR_MS);
    if (before.isAbove) aboveMs += knownMs;
    unknownMs += spanMs - knownMs;
    observedMs += spanMs;
  };

  return {
    /** In the order of time. `policy` has the thresholds; `null` when none holds. */
    at: (atMs: number, imagefs: FilesystemReading | null, policy: Policy | null): void => {
      if (last !== null) add(Math.max(0, atMs - last.atMs), last);
      const percent = percentUsed(imagefs);
      last = { atMs, percent, isAbove: policy !== null && isAbove(imagefs, policy) };
      if (percent !== null) peakPercent = Math.max(peakPercent ?? percent, percent);
    },
    sums: () => ({ peakPercent, aboveMs, unknownMs, observedMs }),
  };
}

type UsageThresholds = Pick<
  Policy,
  'imageGCHighThresholdPercent' | 'imageMaximumGCAgeMs' | 'imageGCAvailable' | 'imageGCInodes'
>;

/** How full imagefs is, rounded up as thresholds are compared (D6); `null` where no reading is believable. */
function percentUsed(imagefs: FilesystemReading | null): number | null {
  const believed = believeUsage('imagefs', imagefs);
  return believed.kind === 'doubt' ? null : Number(usagePercent(believed.usage));
}

/** Whether a usage threshold of image GC is met, in percent, absolute (M39) or of inodes (M13). */
export function isAbove(imagefs: FilesystemReading | null, policy: UsageThresholds): boolean {
  const believed = believeUsage('imagefs', imagefs);
  if (believed.kind === 'doubt') return false;
  const { imageGCHighThresholdPercent: high, imageGCAvailable: absolute } = policy;
  const isFull = !isUsageGcOff(policy) && usagePercent(believed.usage) >= BigInt(high);
  const isShort = absolute !== null && believed.usage.availableBytes < BigInt(absolute.startBelowBytes);
  return isFull || isShort || isAboveInodes(imagefs, policy);
}

function isAboveInodes(imagefs: FilesystemReading | null, { imageGCInodes }: UsageThresholds): boolean {
  if (imageGCInodes === null || imageGCInodes.highThresholdPercent === 100) return false;
  const counted = believeInodes('imagefs', imagefs);
  if (counted.kind === 'doubt') return false;
  return usedInodesPercent(counted.inodes) >= BigInt(imageGCInodes.highThresholdPercent);
}
