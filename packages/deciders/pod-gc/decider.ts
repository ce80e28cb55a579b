import type { Pods } from '../../../schemas/events/pods.ts';
import { clusterHandler } from '../../decision/cluster-handler.ts';
import type { DecisionService } from '../../service/decision-writing.ts';
import { DECIDER, decide } from './decide.ts';

/** What it reads, and how it decides, whatever process it runs in. */
export const decider: DecisionService<'cluster'> = {
  name: 'pod-gc',
  subject: 'cluster',
  group: 'fleetgc-pod-gc',
  handlers: (policies) => ({ clusterPods: podGcHandler(policies) }),
  decider: DECIDER,
};

/** Decides on each fact about a cluster's pods: the record, and the command where there is something to do. */
export const podGcHandler = clusterHandler<Pods>({
  decider: DECIDER,
  decide,
});
