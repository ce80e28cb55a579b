import type { Consumer } from '../../records/consume.ts';
import { type DecisionServiceDeps, startDecisionService } from '../../service/decision-service.ts';
import type { DecisionService } from '../../service/decision-writing.ts';
import { DECIDER } from './decide.ts';
import { containerGcHandler } from './handler.ts';

/** What it reads, and how it decides, whatever process it runs in. */
export const CONTAINER_GC: DecisionService<'node'> = {
  name: 'container-gc',
  group: 'fleetgc-container-gc',
  handlers: (policies) => ({ inventory: containerGcHandler(policies) }),
  decider: DECIDER,
};

/** Starts one replica of container-gc: inventories in, commands to remove containers and sandboxes out. */
export const startContainerGc = (deps: DecisionServiceDeps<'node'>): Promise<Consumer> =>
  startDecisionService(CONTAINER_GC, deps);
