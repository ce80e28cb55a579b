import {
  believeInodes,
  believeUsage,
  isUsageGcOff,
  usagePercent,
  usedInodesPercent,
} from '../../../packages/decision/thresholds/filesystem-usage.ts';
import type { FilesystemReading } from '../../../schemas/events/filesystem.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';

type UsageThresholds = Pick<
  Policy,
  'imageGCHighThresholdPercent' | 'imageMaximumGCAgeMs' | 'imageGCAvailable' | 'imageGCInodes'
>;

/** How full imagefs is, rounded up as thresholds are compared (D6); `null` where no reading is believable. */
export function percentUsed(imagefs: FilesystemReading | null): number | null {
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
