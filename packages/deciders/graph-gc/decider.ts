import type { Ownership } from '../../../schemas/events/ownership.ts';
import { clusterHandler } from '../../decision/cluster-handler.ts';
import type { DecisionService } from '../../service/decision-writing.ts';
import { DECIDER, decide } from './decide.ts';

/** What it reads, and how it decides, whatever process it runs in. */
export const decider: DecisionService<'cluster'> = {
  name: 'graph-gc',
  subject: 'cluster',
  group: 'fleetgc-graph-gc',
  // Of a census nothing is decided: it says that the cluster is there.
  handlers: (policies) => ({ clusterOwnership: graphGcHandler(policies), clusterCensus: () => [] }),
  decider: DECIDER,
};

/** Decides on each fact about a cluster's owners: the record, and the command where there is something to do. */
export const graphGcHandler = clusterHandler<Ownership>({
  decider: DECIDER,
  decide,
});
