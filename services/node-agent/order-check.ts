import type { NodeIdentity } from '../../schemas/identity.ts';
import type { Observe } from '../../schemas/observe.ts';
import type { Instant } from '../../schemas/time.ts';

/** Why an order is not answered. */
export type OrderRefusal = 'other-node' | 'other-instance' | 'other-boot' | 'expired' | 'taken-in-the-future';

/** The first reason not to answer an order at `now`; `null` when there is none. */
export function refusalOf(order: Observe, self: NodeIdentity, now: Instant): OrderRefusal | null {
  if (order.cluster !== self.cluster || order.node !== self.node) return 'other-node';
  if (order.nodeInstance !== self.nodeInstance) return 'other-instance';
  if (order.takenAt.bootId !== now.bootId) return 'other-boot';
  const ageMs = now.sinceBootMs - order.takenAt.sinceBootMs;
  if (ageMs < 0) return 'taken-in-the-future';
  return ageMs > order.lifetimeMs ? 'expired' : null;
}
