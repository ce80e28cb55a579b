import type { Logger } from 'pino';
import type { Handler } from '../../packages/decision/handler.ts';
import type { NodeClock } from '../../packages/machine/clock.ts';
import type { NodeIdentity } from '../../schemas/events/identity.ts';
import type { Observe } from '../../schemas/events/observe.ts';
import type { AgentMetrics } from './agent-metrics.ts';
import { refusalOf, type Unjustified } from './order-check.ts';
import type { Order, OrderOutcome } from './publishing/pacing.ts';

export interface ObserveParts {
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
