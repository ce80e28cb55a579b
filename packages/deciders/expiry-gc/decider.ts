import type { Expiry } from '../../../schemas/events/expiry.ts';
import { clusterHandler } from '../../decision/cluster-handler.ts';
import type { DecisionService } from '../../service/decision-writing.ts';
import { DECIDER, decide } from './decide.ts';

/** What it reads, and how it decides, whatever process it runs in. */
export const decider: DecisionService<'cluster'> = {
  name: 'expiry-gc',
  subject: 'cluster',
  group: 'fleetgc-expiry-gc',
  handlers: (policies) => ({ clusterExpiry: expiryGcHandler(policies) }),
  decider: DECIDER,
};

/** Decides on each fact about objects whose time has come: the record, and the command where there is something to do. */
export const expiryGcHandler = clusterHandler<Expiry>({
  decider: DECIDER,
  decide,
});
