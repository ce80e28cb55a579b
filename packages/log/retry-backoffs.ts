import type { RetryBackoff } from '../process/backoff.ts';

/**
 * How soon what failed is tried again, by what failed. The loops around it are ours and not cockatiel's: they serve for ever, and
 * repeat no single call that is to succeed once.
 */
export const RETRY_BACKOFFS = {
  /** A slice, a fetch, a commit or a start position: its partition stands still meanwhile. */
  partition: { firstMs: 100, mostMs: 5000 },
  /** A member of a group, which joins anew. */
  member: { firstMs: 200, mostMs: 5000 },
  /** Where a reading begins and ends: somebody may wait for it. */
  range: { firstMs: 100, mostMs: 2000 },
  /** A batch on its way out: another broker soon leads its partition. */
  batch: { firstMs: 100, mostMs: 1000 },
  /** The producer, which nobody waits for before something is published. */
  producer: { firstMs: 200, mostMs: 10_000 },
} as const satisfies Record<string, RetryBackoff>;
