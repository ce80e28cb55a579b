import type { Expiry } from '../../../schemas/events/expiry.ts';
import { clusterHandler } from '../../decision/cluster-handler.ts';
import { DECIDER, decide } from './decide.ts';

/** Decides on each fact about objects whose time has come: the record, and the command where there is something to do. */
export const expiryGcHandler = clusterHandler<Expiry>({
  decider: DECIDER,
  decide,
});
