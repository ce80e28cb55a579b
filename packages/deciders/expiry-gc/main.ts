import type { Consumer } from '../../records/consume.ts';
import { type DecisionServiceDeps, startDecisionService } from '../../service/decision-service.ts';
import type { DecisionService } from '../../service/decision-writing.ts';
import { DECIDER } from './decide.ts';
import { expiryGcHandler } from './handler.ts';

/** What it reads, and how it decides, whatever process it runs in. */
export const EXPIRY_GC: DecisionService<'cluster'> = {
  name: 'expiry-gc',
  group: 'fleetgc-expiry-gc',
  handlers: (policies) => ({ clusterExpiry: expiryGcHandler(policies) }),
  decider: DECIDER,
};

/** Starts one replica of expiry-gc: what is known of objects whose time has come in, commands to the executors of clusters out. */
export const startExpiryGc = (deps: DecisionServiceDeps<'cluster'>): Promise<Consumer> =>
  startDecisionService(EXPIRY_GC, deps);
