import { z } from 'zod';

/** A UUID has 36 characters. */
export const MAX_BOOT_ID_LENGTH = 64;

/**
 * One instant of one node. Two instants are ordered by `sinceBootMs` and only within the same `bootId`;
 * `wallTimeMs` is for people and for ages that were counted on the same clock.
 */
export const Instant = z.object({
  /** Unix epoch milliseconds, by the node's wall clock. */
  wallTimeMs: z.int().nonnegative(),
  /** Content of /proc/sys/kernel/random/boot_id. */
  bootId: z.string().min(1).max(MAX_BOOT_ID_LENGTH),
  /** Milliseconds since boot, suspend included (CLOCK_BOOTTIME). */
  sinceBootMs: z.int().nonnegative(),
});
export type Instant = z.infer<typeof Instant>;
