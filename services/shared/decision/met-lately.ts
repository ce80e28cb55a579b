import type { DiskStats } from '../../../schemas/disk-stats.ts';
import type { FilesystemReadings } from '../../../schemas/filesystem.ts';
import type { Policy } from '../../../schemas/policy.ts';
import type { Reclaim } from '../../../schemas/reclaim.ts';
import { thresholdAt } from './eviction-bars.ts';
import { thresholdsInForce, WATCHED, type Watched } from './eviction-signals.ts';
import { believeInodes, believeUsage } from './filesystem-usage.ts';
import { layoutOf } from './layout.ts';
import { isUsageSignal, USAGE_SIGNALS, usagePercent, usedInodesPercent } from './usage-thresholds.ts';

/** What a node has read of its own disks, now and before. */
export interface OwnReadings {
  readonly filesystems: FilesystemReadings;
  readonly history: DiskStats['history'];
  /** Milliseconds since boot, as the times of the history. */
  readonly nowMs: number;
}

/** As far back as readings are kept: a threshold that was met stays so until it is cleared (J10), and a reclaim of many rounds takes long. */
const LATELY_MS = 120 * 60_000;

interface Amounts {
  readonly capacity: bigint;
  /** The least that was free lately. */
  readonly least: bigint;
}

/**
 * Why a node does nothing for a reclaim by its own readings: none of the last two hours met a threshold of the policy in force that could
 * have begun it. `null` where one did. Whoever claims another reading in an order or command is not believed.
 */
export function whyNotMetLately(reclaim: Reclaim, readings: OwnReadings, policy: Policy): string | null {
  const { signal } = reclaim.cause;
  const { filesystem, resource } = reclaim.target;
  const amounts = amountsOf(reclaim.target, readings);
  if (amounts === null) return `what ${filesystem} has of ${resource} is not known here`;
  const isMet = isUsageSignal(signal)
    ? meetsUsage(signal, amounts, policy)
    : meetsEviction(reclaim.target, amounts, { readings, policy });
  if (isMet) return null;
  return `${filesystem} had never less than ${amounts.least} of ${amounts.capacity} free (${resource}) in the last two hours, as this node read it, which meets no threshold of policy ${policy.name} for ${signal}`;
}

function amountsOf({ filesystem, resource }: Watched, readings: OwnReadings): Amounts | null {
  const reading = readings.filesystems[filesystem];
  if (resource === 'availableBytes') {
    const bytes = believeUsage(filesystem, reading);
    if (bytes.kind === 'doubt') return null;
    const { capacityBytes, availableBytes } = bytes.usage;
    return { capacity: capacityBytes, least: leastOf({ filesystem, resource }, readings, availableBytes) };
  }
  const inodes = believeInodes(filesystem, reading);
  if (inodes.kind === 'doubt') return null;
  const { inodes: capacity, free } = inodes.inodes;
  return { capacity, least: leastOf({ filesystem, resource }, readings, free) };
}

const leastOf = ({ filesystem, resource }: Watched, { history, nowMs }: OwnReadings, now: bigint): bigint =>
  history[filesystem][resource]
    .filter(([startMs]) => nowMs - startMs <= LATELY_MS)
    .map(([, minimum]) => BigInt(minimum))
    .reduce((least, one) => (one < least ? one : least), now);

function meetsUsage(
  signal: (typeof USAGE_SIGNALS)[keyof typeof USAGE_SIGNALS],
  { capacity, least }: Amounts,
  { imageGCHighThresholdPercent, imageGCAvailable, imageGCInodes }: Policy,
): boolean {
  switch (signal) {
    case USAGE_SIGNALS.percent: {
      const usage = { capacityBytes: capacity, availableBytes: least };
      return usagePercent(usage) >= BigInt(imageGCHighThresholdPercent);
    }
    case USAGE_SIGNALS.available:
      return imageGCAvailable !== null && least < BigInt(imageGCAvailable.startBelowBytes);
    case USAGE_SIGNALS.inodes:
      return (
        imageGCInodes !== null &&
        usedInodesPercent({ inodes: capacity, free: least }) >= BigInt(imageGCInodes.highThresholdPercent)
      );
  }
}

/** Thresholds of one disk and resource are one need, whichever of its names they look at (J13). */
function meetsEviction(
  { filesystem, resource }: Watched,
  { capacity, least }: Amounts,
  { readings, policy }: { readonly readings: OwnReadings; readonly policy: Policy },
): boolean {
  const { filesystems } = readings;
  const layout = layoutOf(filesystems);
  if (layout === null) return false;
  const device = filesystems[filesystem]?.device;
  return thresholdsInForce(policy.evictionThresholds, layout).some((threshold) => {
    const watched = WATCHED[threshold.signal];
    const isOfDisk = watched.resource === resource && filesystems[watched.filesystem]?.device === device;
    return isOfDisk && least < thresholdAt(threshold, capacity);
  });
}
