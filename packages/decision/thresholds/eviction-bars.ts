import { LARGEST_UINT64 } from '../../../schemas/events/filesystem.ts';
import type { EvictionThreshold } from '../../../schemas/policy/eviction.ts';
import { quantityOf } from './quantity.ts';

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
