import type { Consumer } from '../shared/consume.ts';
import { type DecisionServiceDeps, startDecisionService } from '../shared/decision-service.ts';
import { DECIDER } from './decide.ts';
import { pressureHandler } from './handler.ts';

/** Starts one replica of pressure: disk statistics in, orders to observe out. */
export const startPressure = (deps: DecisionServiceDeps): Promise<Consumer> =>
  startDecisionService(
    {
      name: 'pressure',
      group: 'fleetgc-pressure',
      handlers: (policies) => ({ diskStats: pressureHandler(policies) }),
      decider: DECIDER,
    },
    deps,
  );
