import type { Policy } from '../../../schemas/policy/policy.ts';
import type { FilesystemUsage, InodeUsage } from './filesystem-usage.ts';

/** Causes of reclaims that the usage thresholds of image GC began: in percent (D), absolute (M39), of inodes (M13). */
export const USAGE_SIGNALS = {
  percent: 'imageGC',
  available: 'imageGCAvailable',
  inodes: 'imageGCInodes',
} as const;
export type UsageSignal = (typeof USAGE_SIGNALS)[keyof typeof USAGE_SIGNALS];
export const isUsageSignal = (signal: string): signal is UsageSignal =>
  Object.values<string>(USAGE_SIGNALS).includes(signal);
export const IMAGE_USAGE_SIGNAL = USAGE_SIGNALS.percent;

/**
 * Whether the two percentages remove nothing at all: with a maximum age set, the kubelet runs its pass at a high threshold
 * of 100 too, and a disk of which nothing is left then meets it (D1, D2).
 */
export const isUsageGcOff = ({
  imageGCHighThresholdPercent,
  imageMaximumGCAgeMs,
}: Pick<Policy, 'imageGCHighThresholdPercent' | 'imageMaximumGCAgeMs'>): boolean =>
  imageGCHighThresholdPercent === 100 && imageMaximumGCAgeMs === 0;

/** Rounded up, since the free share is rounded down: 84.1 % counts as 85 % (D6). */
export const usagePercent = ({ capacityBytes, availableBytes }: FilesystemUsage): bigint =>
  100n - (availableBytes * 100n) / capacityBytes;

/** Available bytes at the low threshold, rounded down (D6). */
export const targetBytes = (
  { capacityBytes }: Pick<FilesystemUsage, 'capacityBytes'>,
  { imageGCLowThresholdPercent }: Pick<Policy, 'imageGCLowThresholdPercent'>,
): bigint => (capacityBytes * BigInt(100 - imageGCLowThresholdPercent)) / 100n;

/** As `usagePercent`, of inodes (M13). */
export const usedInodesPercent = ({ inodes, free }: InodeUsage): bigint => 100n - (free * 100n) / inodes;

/** As `targetBytes`, of inodes (M13). */
export const targetInodes = (
  { inodes }: Pick<InodeUsage, 'inodes'>,
  { lowThresholdPercent }: NonNullable<Policy['imageGCInodes']>,
): bigint => (inodes * BigInt(100 - lowThresholdPercent)) / 100n;
