import type { Consumer } from '../shared/consume.ts';
import { type DecisionServiceDeps, startDecisionService } from '../shared/decision-service.ts';
import { pressureHandler } from './handler.ts';

/** Starts one replica of pressure: disk statistics in, orders to observe out. */
export const startPressure = (deps: DecisionServiceDeps): Promise<Consumer> =>
  startDecisionService(
    {
      name: 'pressure',
      group: 'fleetgc-pressure',
      handlers: (policies) => ({ diskStats: pressureHandler(policies) }),
      // A threshold that one reading shows, and that the next can tell nothing of, still needs its order.
      passesOver: null,
    },
    deps,
  );
