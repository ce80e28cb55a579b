import type { Consumer } from '../../packages/pipeline/consume.ts';
import { type DecisionServiceDeps, startDecisionService } from '../../packages/service/decision-service.ts';
import { DECIDER } from './decide.ts';
import { graphGcHandler } from './handler.ts';

/** Starts one replica of graph-gc: what is known of owners in, commands to the executors of clusters out. */
export const startGraphGc = (deps: DecisionServiceDeps<'cluster'>): Promise<Consumer> =>
  startDecisionService(
    {
      name: 'graph-gc',
      group: 'fleetgc-graph-gc',
      handlers: (policies) => ({ clusterOwnership: graphGcHandler(policies) }),
      decider: DECIDER,
    },
    deps,
  );
