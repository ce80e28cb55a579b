import { type FilesystemName, LARGEST_UINT64, type Resource } from '../../../schemas/events/filesystem.ts';
import {
  type Amount,
  EvictionSignal,
  type EvictionThreshold,
  fractionOf,
} from '../../../schemas/policy/eviction.ts';
import { CONTAINERFS_LIKE, type Layout } from './filesystem-usage.ts';

/** What a signal looks at. */
export interface Watched {
  readonly filesystem: FilesystemName;
  readonly resource: Resource;
}

export const WATCHED: Readonly<Record<EvictionSignal, Watched>> = {
  'nodefs.available': { filesystem: 'nodefs', resource: 'availableBytes' },
  'nodefs.inodesFree': { filesystem: 'nodefs', resource: 'inodesFree' },
  'imagefs.available': { filesystem: 'imagefs', resource: 'availableBytes' },
  'imagefs.inodesFree': { filesystem: 'imagefs', resource: 'inodesFree' },
  'containerfs.available': { filesystem: 'containerfs', resource: 'availableBytes' },
  'containerfs.inodesFree': { filesystem: 'containerfs', resource: 'inodesFree' },
};

/** What a signal of this name looks at; `null` for any other name. */
export const signalWatches = (signal: string): Watched | null => {
  const known = EvictionSignal.safeParse(signal);
  return known.success ? WATCHED[known.data] : null;
};

/**
 * Buckets of a disk's history span a minute at most; where two lie further apart nobody looked in between.
 * @limit Longest gap between samples in a grace period.
 */
export const MAX_GAP_MS = 60_000;

const CONTAINERFS_SIGNALS: Readonly<Record<Resource, EvictionSignal>> = {
  availableBytes: 'containerfs.available',
  inodesFree: 'containerfs.inodesFree',
};

/**
 * The thresholds in force: those of containerfs are not the user's, but copies of those of the filesystem that it
 * shares in this layout, with value, grace and minimum reclaim (J6).
 */
export function thresholdsInForce(
  thresholds: readonly EvictionThreshold[],
  layout: Layout,
): EvictionThreshold[] {
  const own = thresholds.filter(({ signal }) => WATCHED[signal].filesystem !== 'containerfs');
  const shared = own.filter(({ signal }) => WATCHED[signal].filesystem === CONTAINERFS_LIKE[layout]);
  const copies = shared.map((threshold) => ({
    ...threshold,
    signal: CONTAINERFS_SIGNALS[WATCHED[threshold.signal].resource],
  }));
  return [...own, ...copies];
}

/** Below this much of bytes or inodes a threshold is met (J9). */
export const thresholdAt = ({ value }: EvictionThreshold, capacity: bigint): bigint =>
  quantityOf(value, capacity);

/**
 * From this much on a threshold that was met counts as cleared: with its minimum reclaim (J10). A kubelet's percentage can ask
 * for more than any number on the log holds; neither is ever free.
 */
export function clearedAt(threshold: EvictionThreshold, capacity: bigint): bigint {
  const { minimumReclaim } = threshold;
  const more = minimumReclaim === null ? 0n : quantityOf(minimumReclaim, capacity);
  const cleared = thresholdAt(threshold, capacity) + more;
  const most = BigInt(LARGEST_UINT64);
  return cleared > most ? most : cleared;
}

/**
 * A threshold or minimum reclaim in bytes or inodes. A percentage is taken as the kubelet takes it (J9): its fraction
 * has 32 bits, the product 64, and what follows the point is cut off.
 */
export function quantityOf(amount: Amount, capacity: bigint): bigint {
  if ('quantity' in amount) return BigInt(amount.quantity);
  return BigInt(Math.trunc(Number(capacity) * fractionOf(amount.percent)));
}
