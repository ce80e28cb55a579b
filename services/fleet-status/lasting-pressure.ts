import {
  thresholdAt,
  thresholdsInForce,
  WATCHED,
  type Watched,
} from '../../packages/decision/thresholds/eviction-signals.ts';
import {
  believeInodes,
  believeUsage,
  usagePercent,
  usedInodesPercent,
} from '../../packages/decision/thresholds/filesystem-usage.ts';
import { layoutOf } from '../../packages/decision/thresholds/layout.ts';
import { MINUTE_MS } from '../../packages/process/durations.ts';
import type { Bucket, DiskStats } from '../../schemas/events/disk-stats.ts';
import type { FilesystemName } from '../../schemas/events/filesystem.ts';
import type { Policy } from '../../schemas/policy/policy.ts';

/** A reclaim of several rounds is over long before. */
export const LASTING_MS = 15 * MINUTE_MS;
/** Where buckets lie further apart nobody looked in between. */
const MAX_GAP_MS = MINUTE_MS;

export interface LastingPressure {
  readonly filesystem: FilesystemName;
  /** At least: nodes remember two hours. */
  readonly forMs: number;
}

/** The threshold of the policy that every reading met for the longest time up to now; `null` where none was met for long. */
export function lastingPressure(stats: DiskStats, policy: Policy): LastingPressure | null {
  const [longest] = thresholdsOf(stats, policy)
    .map((threshold) => ({ filesystem: threshold.filesystem, forMs: metFor(threshold, stats) }))
    .toSorted((a, b) => b.forMs - a.forMs);
  return longest !== undefined && longest.forMs >= LASTING_MS ? longest : null;
}

interface WatchedThreshold extends Watched {
  readonly isMet: (free: bigint) => boolean;
  /** In the newest reading. */
  readonly free: bigint;
}

function thresholdsOf(stats: DiskStats, policy: Policy): readonly WatchedThreshold[] {
  return [...usageThresholds(stats, policy), ...evictionThresholdsOf(stats, policy)];
}

function usageThresholds(
  { filesystems: { imagefs } }: DiskStats,
  policy: Policy,
): readonly WatchedThreshold[] {
  const { imageGCHighThresholdPercent, imageGCAvailable, imageGCInodes } = policy;
  const bytes = believeUsage('imagefs', imagefs);
  const nodes = believeInodes('imagefs', imagefs);
  const thresholds: WatchedThreshold[] = [];
  if (bytes.kind === 'usage') {
    const { capacityBytes, availableBytes } = bytes.usage;
    const least = imageGCAvailable === null ? 0n : BigInt(imageGCAvailable.startBelowBytes);
    thresholds.push({
      filesystem: 'imagefs',
      resource: 'availableBytes',
      free: availableBytes,
      isMet: (free) =>
        free < least ||
        usagePercent({ capacityBytes, availableBytes: free }) >= BigInt(imageGCHighThresholdPercent),
    });
  }
  if (nodes.kind === 'inodes' && imageGCInodes !== null) {
    const { inodes, free } = nodes.inodes;
    const high = BigInt(imageGCInodes.highThresholdPercent);
    const isMet: WatchedThreshold['isMet'] = (left) => usedInodesPercent({ inodes, free: left }) >= high;
    thresholds.push({ filesystem: 'imagefs', resource: 'inodesFree', free, isMet });
  }
  return thresholds;
}

function evictionThresholdsOf(
  { filesystems }: DiskStats,
  { evictionThresholds }: Policy,
): readonly WatchedThreshold[] {
  const layout = layoutOf(filesystems);
  if (layout === null) return [];
  return thresholdsInForce(evictionThresholds, layout).flatMap((threshold): WatchedThreshold[] => {
    const watched = WATCHED[threshold.signal];
    const amounts = amountsOf(watched, filesystems);
    if (amounts === null) return [];
    const least = thresholdAt(threshold, amounts.capacity);
    return [{ ...watched, free: amounts.free, isMet: (free) => free < least }];
  });
}

function amountsOf(
  { filesystem, resource }: Watched,
  filesystems: DiskStats['filesystems'],
): { readonly capacity: bigint; readonly free: bigint } | null {
  if (resource === 'availableBytes') {
    const bytes = believeUsage(filesystem, filesystems[filesystem]);
    if (bytes.kind === 'doubt') return null;
    return { capacity: bytes.usage.capacityBytes, free: bytes.usage.availableBytes };
  }
  const nodes = believeInodes(filesystem, filesystems[filesystem]);
  return nodes.kind === 'doubt' ? null : { capacity: nodes.inodes.inodes, free: nodes.inodes.free };
}

/** How long every reading up to the newest met it; 0 where the newest does not. Times of another boot count for nothing. */
function metFor(
  { filesystem, resource, free, isMet }: WatchedThreshold,
  { history, takenAt }: DiskStats,
): number {
  const nowMs = takenAt.sinceBootMs;
  const newest: Bucket = [nowMs, String(free), String(free), String(free)];
  let beforeMs = Number.NEGATIVE_INFINITY;
  let sinceMs: number | null = null;
  for (const [atMs, , most] of [
    ...history[filesystem][resource].filter(([startMs]) => startMs >= 0),
    newest,
  ]) {
    const isUnbroken = sinceMs !== null && atMs - beforeMs <= MAX_GAP_MS;
    if (!isMet(BigInt(most))) sinceMs = null;
    else if (!isUnbroken) sinceMs = atMs;
    beforeMs = atMs;
  }
  return sinceMs === null ? 0 : nowMs - sinceMs;
}
