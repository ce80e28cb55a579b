import { z } from 'zod';
import { FilesystemName, Resource, Uint64 } from './filesystem.ts';

/** What a reclaim wants, in absolute terms, so that the executor can stop by measurement alone. */
export const ReclaimTarget = z.strictObject({
  filesystem: FilesystemName,
  resource: Resource,
  /** Reached when the measured value is at least this. */
  atLeast: Uint64,
});
export type ReclaimTarget = z.infer<typeof ReclaimTarget>;

/** Why a reclaim began: for people, and for the record. */
export const ReclaimCause = z.strictObject({
  /** `imageGC` for the usage thresholds of image GC, else an eviction signal such as `imagefs.available`. */
  signal: z.string().min(1),
  /** The threshold as configured, e.g. `85%`. */
  threshold: z.string(),
  /** The reading that met it, e.g. `91%`. */
  reading: z.string(),
  policy: z.string(),
  /** Id of the disk-stats event that showed it. */
  eventId: z.string(),
});
export type ReclaimCause = z.infer<typeof ReclaimCause>;

/** How many times a reclaim looks again at the step `images`. */
export const MAX_RECLAIM_ROUNDS = 5;

/**
 * Where a reclaim stands. It travels with every order, inventory, command and result of the reclaim, which is why no
 * service has to remember it.
 */
export const Reclaim = z.strictObject({
  /** Derived from the event that began it, so a redelivery begins the same one. */
  id: z.string().min(1),
  cause: ReclaimCause,
  target: ReclaimTarget,
  step: z.enum(['containers', 'images']),
  round: z.int().min(1).max(MAX_RECLAIM_ROUNDS),
});
export type Reclaim = z.infer<typeof Reclaim>;
