import { ClusterWatch } from '../../fleet-watch/fleet-watch.ts';
import type { Consumer } from '../../records/consume.ts';
import type { OnEvent } from '../../records/decide.ts';
import { type DecisionServiceDeps, startDecisionService } from '../../service/decision-service.ts';
import type { DecisionService } from '../../service/decision-writing.ts';
import { DECIDER } from './decide.ts';
import { graphGcHandler } from './handler.ts';

/** What it reads, and how it decides, whatever process it runs in. */
export const GRAPH_GC: DecisionService<'cluster'> = {
  name: 'graph-gc',
  group: 'fleetgc-graph-gc',
  // Of a census nothing is decided: it says that the cluster is there.
  handlers: (policies) => ({ clusterOwnership: graphGcHandler(policies), clusterCensus: () => [] }),
  decider: DECIDER,
};

/**
 * Starts one replica of graph-gc: what is known of owners in, commands to the executors of clusters out. It hears of every cluster, so it
 * watches which fall silent.
 */
export async function startGraphGc(deps: DecisionServiceDeps<'cluster'>): Promise<Consumer> {
  const watch = new ClusterWatch(deps);
  const onEvent: OnEvent = (event, record) => watch.received(event, record);
  const consumer = await startDecisionService({ ...GRAPH_GC, onEvent }, deps);
  watch.follow(consumer);
  return consumer;
}
