import { z } from 'zod';
import { Uint64 } from '../events/filesystem.ts';

/** Signals whose thresholds force garbage collection, in the kubelet's names. */
export const EvictionSignal = z.enum([
  'nodefs.available',
  'nodefs.inodesFree',
  'imagefs.available',
  'imagefs.inodesFree',
  'containerfs.available',
  'containerfs.inodesFree',
]);
export type EvictionSignal = z.infer<typeof EvictionSignal>;

/**
 * What disk statistics always vouch for: two hours in buckets of a minute, the oldest of which may be going, and the next
 * does not tell when in its minute the first sample was taken.
 * @limit Longest grace period of an eviction threshold. Keep it below `KEPT_FOR_MS`, the disk history of a node.
 */
export const LONGEST_GRACE_PERIOD_MS = 7_080_000;

const amount = (percent: z.ZodNumber) =>
  z.union([z.strictObject({ percent }), z.strictObject({ quantity: Uint64 })]);

/**
 * A share of the capacity, or bytes or inodes as such. A percentage is kept as written; whoever uses it rounds its
 * fraction to 32 bits, as the kubelet does (J9).
 */
export const ThresholdAmount = amount(z.number().min(0).max(100));
/** The largest number that 32 bits hold: the kubelet reads no larger percentage (B15). */
export const LARGEST_PERCENT = 3.4028234663852886e38;
/** The kubelet sets no other upper bound to the percentage. */
export const ReclaimAmount = amount(z.number().positive().max(LARGEST_PERCENT));
export type Amount = z.infer<typeof ThresholdAmount>;

/** The part that a percentage is of the whole, in 32 bits as in the kubelet (B15, J9). */
export const fractionOf = (percent: number): number => Math.fround(Math.fround(percent) / 100);

/** One threshold of `evictionHard` or `evictionSoft`, with all that belongs to its signal (B15). */
export const EvictionThreshold = z.strictObject({
  signal: EvictionSignal,
  kind: z.enum(['hard', 'soft']),
  value: ThresholdAmount,
  /** 0 for hard thresholds. */
  gracePeriodMs: z.int().min(0).max(LONGEST_GRACE_PERIOD_MS),
  minimumReclaim: ReclaimAmount.nullable(),
});
export type EvictionThreshold = z.infer<typeof EvictionThreshold>;
