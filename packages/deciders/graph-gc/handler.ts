import type { Ownership } from '../../../schemas/events/ownership.ts';
import { clusterHandler } from '../../decision/cluster-handler.ts';
import { DECIDER, decide } from './decide.ts';

/** Decides on each fact about a cluster's owners: the record, and the command where there is something to do. */
export const graphGcHandler = clusterHandler<Ownership>({
  decider: DECIDER,
  decide,
});
