import type { Bucket, DiskStats } from '../../../schemas/events/disk-stats.ts';
import type { FilesystemReadings } from '../../../schemas/events/filesystem.ts';
import type { Reclaim } from '../../../schemas/events/reclaim.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { MAX_GAP_MS, thresholdAt, thresholdsInForce, WATCHED, type Watched } from './eviction-signals.ts';
import {
  believeInodes,
  believeUsage,
  isUsageSignal,
  layoutOf,
  USAGE_SIGNALS,
  usagePercent,
  usedInodesPercent,
} from './filesystem-usage.ts';
import { wantedNow } from './wanted-reclaim.ts';

/** What a node has read of its own disks, now and before. */
export interface OwnReadings {
  readonly filesystems: FilesystemReadings;
  readonly history: DiskStats['history'];
  /** Milliseconds since boot, as the times of the history. */
  readonly nowMs: number;
}

/**
 * As far back as readings are kept: a reclaim of many rounds takes long.
 * @limit Time for which a threshold that was met still justifies a reclaim.
 */
const LATELY_MS = 120 * 60_000;

interface Amounts {
  readonly capacity: bigint;
  readonly free: bigint;
}

/** A threshold of the policy in force that may have begun the reclaim. */
interface PolicyThreshold {
  readonly isMet: (free: bigint) => boolean;
  readonly gracePeriodMs: number;
}

/**
 * Why a node does nothing for a reclaim by its own readings: none of the last two hours met a threshold of the policy in force that could
 * have begun it, or one since had all that the reclaim may ask for. `null` where one did. Whoever claims another reading in an order or
 * command is not believed, and what was relieved stays so until a threshold is met again.
 */
export function whyNotMetLately(reclaim: Reclaim, readings: OwnReadings, policy: Policy): string | null {
  const { signal } = reclaim.cause;
  const { filesystem, resource } = reclaim.target;
  const amounts = amountsOf(reclaim.target, readings);
  if (amounts === null) return `what ${filesystem} has of ${resource} is not known here`;
  const enough = BigInt(wantedNow(reclaim, readings.filesystems, policy).reclaim.target.atLeast);
  const { nowMs } = readings;
  const lately: readonly Bucket[] = [
    ...readings.history[filesystem][resource].filter(([startMs]) => isLately(startMs, nowMs)),
    bucketOf(amounts.free, nowMs),
  ];
  const thresholds = isUsageSignal(signal)
    ? [usageThreshold(signal, amounts.capacity, policy)]
    : evictionThresholds(reclaim.target, amounts.capacity, { readings, policy });
  if (thresholds.some((threshold) => isUnderWay(lately, threshold, enough))) return null;
  return `${filesystem} has ${amounts.free} of ${amounts.capacity} free (${resource}): what this node read in the last two hours meets no threshold of policy ${policy.name} for ${signal}, or it had ${enough} free since, which is enough`;
}

/** Before a reboot only the wall clock tells how long ago it was, and anybody can set that. */
const isLately = (startMs: number, nowMs: number): boolean => startMs >= 0 && nowMs - startMs <= LATELY_MS;

const bucketOf = (free: bigint, atMs: number): Bucket => [atMs, String(free), String(free), String(free)];

/** Of one threshold, after a bucket. */
interface ThresholdState {
  readonly atMs: number;
  /** Start of the unbroken time below that samples vouch for (J11); `null` when there is none. */
  readonly belowSinceMs: number | null;
  readonly isUnderWay: boolean;
}

/**
 * Whether a threshold was met, state its grace, and `enough` was not free since. Where a bucket does not tell which of the two came
 * first, its last value does; of one that ends between them the reclaim may be in the middle.
 */
function isUnderWay(buckets: readonly Bucket[], threshold: PolicyThreshold, enough: bigint): boolean {
  let state: ThresholdState = { atMs: Number.NEGATIVE_INFINITY, belowSinceMs: null, isUnderWay: false };
  for (const bucket of buckets) state = stateAfter(state, bucket, { threshold, enough });
  return state.isUnderWay;
}

function stateAfter(
  state: ThresholdState,
  [atMs, minimum, maximum, last]: Bucket,
  { threshold, enough }: { readonly threshold: PolicyThreshold; readonly enough: bigint },
): ThresholdState {
  const { gracePeriodMs } = threshold;
  const belowSinceMs = threshold.isMet(BigInt(maximum)) ? belowSince(state, atMs) : null;
  const begins =
    gracePeriodMs === 0
      ? threshold.isMet(BigInt(minimum))
      : belowSinceMs !== null && atMs - belowSinceMs >= gracePeriodMs;
  const mostSince = BigInt(begins ? last : maximum);
  return { atMs, belowSinceMs, isUnderWay: (begins || state.isUnderWay) && mostSince < enough };
}

const belowSince = ({ atMs: beforeMs, belowSinceMs }: ThresholdState, atMs: number): number =>
  atMs - beforeMs <= MAX_GAP_MS ? (belowSinceMs ?? atMs) : atMs;

function amountsOf({ filesystem, resource }: Watched, { filesystems }: OwnReadings): Amounts | null {
  const reading = filesystems[filesystem];
  if (resource === 'availableBytes') {
    const bytes = believeUsage(filesystem, reading);
    if (bytes.kind === 'doubt') return null;
    return { capacity: bytes.usage.capacityBytes, free: bytes.usage.availableBytes };
  }
  const inodes = believeInodes(filesystem, reading);
  return inodes.kind === 'doubt' ? null : { capacity: inodes.inodes.inodes, free: inodes.inodes.free };
}

function usageThreshold(
  signal: (typeof USAGE_SIGNALS)[keyof typeof USAGE_SIGNALS],
  capacity: bigint,
  { imageGCHighThresholdPercent, imageGCAvailable, imageGCInodes }: Policy,
): PolicyThreshold {
  const threshold = (isMet: PolicyThreshold['isMet']): PolicyThreshold => ({ isMet, gracePeriodMs: 0 });
  switch (signal) {
    case USAGE_SIGNALS.percent: {
      const high = BigInt(imageGCHighThresholdPercent);
      return threshold((free) => usagePercent({ capacityBytes: capacity, availableBytes: free }) >= high);
    }
    case USAGE_SIGNALS.available:
      return threshold(
        (free) => imageGCAvailable !== null && free < BigInt(imageGCAvailable.startBelowBytes),
      );
    case USAGE_SIGNALS.inodes:
      return threshold(
        (free) =>
          imageGCInodes !== null &&
          usedInodesPercent({ inodes: capacity, free }) >= BigInt(imageGCInodes.highThresholdPercent),
      );
  }
}

/** Thresholds of one disk and resource are one need, whichever of its names they look at (J13). */
function evictionThresholds(
  { filesystem, resource }: Watched,
  capacity: bigint,
  { readings, policy }: { readonly readings: OwnReadings; readonly policy: Policy },
): PolicyThreshold[] {
  const { filesystems } = readings;
  const layout = layoutOf(filesystems);
  if (layout === null) return [];
  const device = filesystems[filesystem]?.device;
  return thresholdsInForce(policy.evictionThresholds, layout)
    .filter((threshold) => {
      const watched = WATCHED[threshold.signal];
      return watched.resource === resource && filesystems[watched.filesystem]?.device === device;
    })
    .map((threshold) => {
      const least = thresholdAt(threshold, capacity);
      return { isMet: (free) => free < least, gracePeriodMs: threshold.gracePeriodMs ?? 0 };
    });
}
