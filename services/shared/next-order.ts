import type { Command } from '../../schemas/command.ts';
import { OBSERVE_LIFETIME_MS, type Observe } from '../../schemas/observe.ts';
import { atNextAction, MAX_RECLAIM_ROUNDS, type Reclaim } from '../../schemas/reclaim.ts';
import type { Instant } from '../../schemas/time.ts';
import { nextOrderId } from './result-ids.ts';

/** Another round of images where one may still help, else the next of the reclaim's actions (J14). */
export const nextReclaim = (reclaim: Reclaim, mayHelp: boolean): Reclaim | null =>
  reclaim.step === 'images' && mayHelp && reclaim.round < MAX_RECLAIM_ROUNDS
    ? { ...reclaim, round: reclaim.round + 1 }
    : atNextAction(reclaim);

/** The order with which an executor goes on with the reclaim of a command. */
export const nextOrder = (
  { id, cluster, node, nodeInstance }: Pick<Command, 'id' | 'cluster' | 'node' | 'nodeInstance'>,
  reclaim: Reclaim,
  at: Instant,
): Observe => ({
  type: 'fleetgc.node.observe',
  version: 1,
  id: nextOrderId(id, reclaim),
  cluster,
  node,
  nodeInstance,
  takenAt: at,
  lifetimeMs: OBSERVE_LIFETIME_MS,
  reclaim,
});
