import { z } from 'zod';
import { EventId } from './event-id.ts';
import { NodeIdentity } from './identity.ts';
import { Reclaim } from './reclaim.ts';
import { Instant } from './time.ts';

/** @limit Lifetime of a request for an inventory. */
export const OBSERVE_LIFETIME_MS = 60_000;

/** Order to a node's agent: publish an inventory now, and repeat the reclaim in it. */
export const Observe = z.strictObject({
  type: z.literal('fleetgc.node.observe'),
  version: z.literal(1),
  id: EventId,
  ...NodeIdentity.shape,
  /** Time of the fact or result that led to this order; order and expiry are judged against it. */
  takenAt: Instant,
  /** The agent ignores the order once this much time since boot has passed after `takenAt`. */
  lifetimeMs: z.int().positive(),
  reclaim: Reclaim,
});
export type Observe = z.infer<typeof Observe>;
