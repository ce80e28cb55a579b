import type { Consumer } from '../../records/consume.ts';
import { type DecisionServiceDeps, startDecisionService } from '../../service/decision-service.ts';
import type { DecisionService } from '../../service/decision-writing.ts';
import { DECIDER } from './decide.ts';
import { imageGcHandler } from './handler.ts';

/** What it reads, and how it decides, whatever process it runs in. */
export const IMAGE_GC: DecisionService<'node'> = {
  name: 'image-gc',
  group: 'fleetgc-image-gc',
  handlers: (policies) => ({ inventory: imageGcHandler(policies) }),
  decider: DECIDER,
};

/** Starts one replica of image-gc: inventories in, commands to remove images out. */
export const startImageGc = (deps: DecisionServiceDeps<'node'>): Promise<Consumer> =>
  startDecisionService(IMAGE_GC, deps);
