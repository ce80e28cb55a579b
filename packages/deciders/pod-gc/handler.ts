import type { Pods } from '../../../schemas/events/pods.ts';
import { clusterHandler } from '../../decision/cluster-handler.ts';
import { DECIDER, decide } from './decide.ts';

/** Decides on each fact about a cluster's pods: the record, and the command where there is something to do. */
export const podGcHandler = clusterHandler<Pods>({
  decider: DECIDER,
  decide,
});
