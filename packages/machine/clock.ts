import type { Instant } from '../../schemas/events/time.ts';

/** The node's clock, injected wherever time is needed. */
export interface NodeClock {
  /** Wall time, boot id and time since boot, read together. */
  now(): Instant;
}
