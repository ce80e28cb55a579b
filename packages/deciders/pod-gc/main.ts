import type { Consumer } from '../../records/consume.ts';
import { type DecisionServiceDeps, startDecisionService } from '../../service/decision-service.ts';
import type { DecisionService } from '../../service/decision-writing.ts';
import { DECIDER } from './decide.ts';
import { podGcHandler } from './handler.ts';

/** What it reads, and how it decides, whatever process it runs in. */
export const POD_GC: DecisionService<'cluster'> = {
  name: 'pod-gc',
  group: 'fleetgc-pod-gc',
  handlers: (policies) => ({ clusterPods: podGcHandler(policies) }),
  decider: DECIDER,
};

/** Starts one replica of pod-gc: what is known of pods in, commands to the executors of clusters out. */
export const startPodGc = (deps: DecisionServiceDeps<'cluster'>): Promise<Consumer> =>
  startDecisionService(POD_GC, deps);
