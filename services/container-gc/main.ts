import type { Consumer } from '../../packages/pipeline/consume.ts';
import { type DecisionServiceDeps, startDecisionService } from '../../packages/service/decision-service.ts';
import { DECIDER } from './decide.ts';
import { containerGcHandler } from './handler.ts';

/** Starts one replica of container-gc: inventories in, commands to remove containers and sandboxes out. */
export const startContainerGc = (deps: DecisionServiceDeps<'node'>): Promise<Consumer> =>
  startDecisionService(
    {
      name: 'container-gc',
      group: 'fleetgc-container-gc',
      handlers: (policies) => ({ inventory: containerGcHandler(policies) }),
      decider: DECIDER,
    },
    deps,
  );
