import type { Logger } from 'pino';
import type { Handler } from '../../../packages/decision/handler.ts';
import { OWN_RULES } from '../../../packages/decision/own-rules.ts';
import { type OwnReadings, whyNotMetLately } from '../../../packages/decision/thresholds/met-lately.ts';
import type { NodeClock } from '../../../packages/machine/clock.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import type { NodeIdentity } from '../../../schemas/events/identity.ts';
import type { Observe } from '../../../schemas/events/observe.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import type { PolicySet } from '../../../schemas/policy/policy.ts';
import { type SelectableNode, selectPolicy } from '../../../schemas/policy/policy-selection.ts';
import type { AgentMetrics } from './metrics.ts';
import type { Order, OrderOutcome } from './pacing.ts';

interface ObserveParts {
  readonly self: NodeIdentity;
  readonly clock: NodeClock;
  readonly whyUnjustified: (order: Observe) => Unjustified | null;
  readonly accept: (order: Order) => OrderOutcome;
  readonly metrics: Pick<AgentMetrics, 'orders'>;
  readonly logger: Logger;
}

/**
 * Takes an order to observe and returns: the inventory that answers it is published when its time has come. An order
 * that is not for us, or not any more, is counted; nothing but an inventory was ever going to follow from it.
 */
export const observeHandler =
  ({ self, clock, whyUnjustified, accept, metrics, logger }: ObserveParts): Handler<Observe> =>
  ({ event, trace }) => {
    const refusal = refusalOf(event, self, clock.now());
    const unjustified = refusal === null ? whyUnjustified(event) : null;
    const outcome = refusal ?? unjustified?.refusal ?? accept({ ...event, ...(trace && { trace }) });
    metrics.orders.add({ outcome });
    // Other nodes' orders lie on the same partition.
    const level = outcome === 'other-node' ? 'debug' : 'info';
    const { id, reclaim } = event;
    logger[level](
      {
        orderId: id,
        reclaimId: reclaim.id,
        step: reclaim.step,
        round: reclaim.round,
        outcome,
        ...(unjustified && { why: unjustified.why }),
      },
      'order to observe',
    );
    return [];
  };

/** Why an order is not answered. */
type OrderRefusal =
  | 'other-node'
  | 'other-instance'
  | 'other-boot'
  | 'expired'
  | 'taken-in-the-future'
  | 'paused'
  | 'no-policy'
  | 'policies-unreadable'
  | 'not-met';

/** The first reason not to answer an order at `now`; `null` when there is none. */
export function refusalOf(order: Observe, self: NodeIdentity, now: Instant): OrderRefusal | null {
  if (order.cluster !== self.cluster || order.node !== self.node) return 'other-node';
  if (order.nodeInstance !== self.nodeInstance) return 'other-instance';
  if (order.takenAt.bootId !== now.bootId) return 'other-boot';
  const ageMs = now.sinceBootMs - order.takenAt.sinceBootMs;
  if (ageMs < 0) return 'taken-in-the-future';
  return ageMs > order.lifetimeMs ? 'expired' : null;
}

/** What an agent holds the reclaim of an order against. */
export interface Justification {
  readonly node: SelectableNode;
  /** As this process follows them; throws while they cannot be read. */
  readonly policies: () => PolicySet;
  readonly readings: () => OwnReadings;
}

interface Unjustified {
  readonly refusal: Extract<OrderRefusal, 'paused' | 'no-policy' | 'policies-unreadable' | 'not-met'>;
  readonly why: string;
}

/**
 * Why nothing on this node calls for the reclaim of an order, by its own readings and the policy in force here; `null` where something
 * does. Whoever may write orders could else have any node looked at, and decided on, for a full disk that it does not have.
 */
export function whyUnjustified({ reclaim }: Pick<Observe, 'reclaim'>, by: Justification): Unjustified | null {
  const policies = readable(by.policies);
  if (!('hash' in policies)) return policies;
  const selection = selectPolicy(policies, by.node);
  switch (selection.kind) {
    case 'paused':
      return { refusal: 'paused', why: `fleetgc pause is in force: ${selection.pause.reason}` };
    case 'too-costly':
      return { refusal: 'policies-unreadable', why: OWN_RULES.P10 };
    case 'none':
      return { refusal: 'no-policy', why: 'no policy selects this node' };
    case 'policy': {
      const why = whyNotMetLately(reclaim, by.readings(), selection.record.policy);
      return why === null ? null : { refusal: 'not-met', why };
    }
  }
}

function readable(policies: () => PolicySet): PolicySet | Unjustified {
  try {
    return policies();
  } catch (error) {
    return { refusal: 'policies-unreadable', why: toFleetGcError(error).message };
  }
}
