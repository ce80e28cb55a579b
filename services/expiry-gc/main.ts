import type { Consumer } from '../../packages/pipeline/consume.ts';
import { type DecisionServiceDeps, startDecisionService } from '../../packages/service/decision-service.ts';
import { DECIDER } from './decide.ts';
import { expiryGcHandler } from './handler.ts';

/** Starts one replica of expiry-gc: what is known of objects whose time has come in, commands to the executors of clusters out. */
export const startExpiryGc = (deps: DecisionServiceDeps<'cluster'>): Promise<Consumer> =>
  startDecisionService(
    {
      name: 'expiry-gc',
      group: 'fleetgc-expiry-gc',
      handlers: (policies) => ({ clusterExpiry: expiryGcHandler(policies) }),
      decider: DECIDER,
    },
    deps,
  );
