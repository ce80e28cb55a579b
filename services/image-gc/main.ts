import type { Consumer } from '../../packages/pipeline/consume.ts';
import { type DecisionServiceDeps, startDecisionService } from '../../packages/service/decision-service.ts';
import { DECIDER } from './decide.ts';
import { imageGcHandler } from './handler.ts';

/** Starts one replica of image-gc: inventories in, commands to remove images out. */
export const startImageGc = (deps: DecisionServiceDeps<'node'>): Promise<Consumer> =>
  startDecisionService(
    {
      name: 'image-gc',
      group: 'fleetgc-image-gc',
      handlers: (policies) => ({ inventory: imageGcHandler(policies) }),
      decider: DECIDER,
    },
    deps,
  );
