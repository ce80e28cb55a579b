import {
  believeInodes,
  type FilesystemUsage,
} from '../../../packages/decision/thresholds/filesystem-usage.ts';
import {
  isUsageGcOff,
  targetBytes,
  targetInodes,
  usagePercent,
  usedInodesPercent,
} from '../../../packages/decision/thresholds/usage-thresholds.ts';
import type { FilesystemReading } from '../../../schemas/events/filesystem.ts';
import type { ReclaimTarget } from '../../../schemas/events/reclaim.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';

/** Whether this reading meets the high threshold (D6). */
export const meetsHighThreshold = (usage: FilesystemUsage, policy: Policy): boolean =>
  !isUsageGcOff(policy) && usagePercent(usage) >= BigInt(policy.imageGCHighThresholdPercent);

/** What the policy's own thresholds ask for on this reading, without any order; `null` when none is met (D6, M39, M13). */
export function ownTarget(
  imagefs: FilesystemReading | null,
  usage: FilesystemUsage,
  policy: Policy,
): ReclaimTarget | null {
  const bytes = [
    ...(meetsHighThreshold(usage, policy) ? [targetBytes(usage, policy)] : []),
    ...absoluteTarget(usage, policy),
  ];
  const [first, ...others] = bytes;
  if (first === undefined) return inodesTarget(imagefs, policy);
  const most = others.reduce((a, b) => (a > b ? a : b), first);
  return { filesystem: 'imagefs', resource: 'availableBytes', atLeast: String(most) };
}

/** A limit beyond the end of the disk could never be reached (M39). */
function absoluteTarget(
  { availableBytes, capacityBytes }: FilesystemUsage,
  { imageGCAvailable }: Policy,
): bigint[] {
  if (imageGCAvailable === null || availableBytes >= BigInt(imageGCAvailable.startBelowBytes)) return [];
  const until = BigInt(imageGCAvailable.untilBytes);
  return until > capacityBytes ? [] : [until];
}

function inodesTarget(imagefs: FilesystemReading | null, { imageGCInodes }: Policy): ReclaimTarget | null {
  const believed = believeInodes('imagefs', imagefs);
  if (imageGCInodes === null || believed.kind === 'doubt') return null;
  const high = imageGCInodes.highThresholdPercent;
  if (high === 100 || usedInodesPercent(believed.inodes) < BigInt(high)) return null;
  const atLeast = String(targetInodes(believed.inodes, imageGCInodes));
  return { filesystem: 'imagefs', resource: 'inodesFree', atLeast };
}
