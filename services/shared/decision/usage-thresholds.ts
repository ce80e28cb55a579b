import type { Policy } from '../../../schemas/policy.ts';
import type { FilesystemUsage } from './filesystem-usage.ts';

/** The cause of a reclaim that the usage thresholds of image GC began (D). */
export const IMAGE_USAGE_SIGNAL = 'imageGC';

/** Rounded up, since the free share is rounded down: 84.1 % counts as 85 % (D6). */
export const usagePercent = ({ capacityBytes, availableBytes }: FilesystemUsage): bigint =>
  100n - (availableBytes * 100n) / capacityBytes;

/** Available bytes at the low threshold, rounded down (D6). */
export const targetBytes = (
  { capacityBytes }: Pick<FilesystemUsage, 'capacityBytes'>,
  { imageGCLowThresholdPercent }: Pick<Policy, 'imageGCLowThresholdPercent'>,
): bigint => (capacityBytes * BigInt(100 - imageGCLowThresholdPercent)) / 100n;
