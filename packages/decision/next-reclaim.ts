import type { Command } from '../../schemas/events/command.ts';
import { atNextAction, MAX_RECLAIM_ROUNDS, type Reclaim } from '../../schemas/events/reclaim.ts';
import type { ReclaimContinues } from '../../schemas/events/result.ts';
import { continuesId } from './result-ids.ts';

/** Another round of images where one may still help, else the next of the reclaim's actions (J14). */
export const nextReclaim = (reclaim: Reclaim, mayHelp: boolean): Reclaim | null =>
  reclaim.step === 'images' && mayHelp && reclaim.round < MAX_RECLAIM_ROUNDS
    ? { ...reclaim, round: reclaim.round + 1 }
    : atNextAction(reclaim);

/** The fact that the reclaim of a command goes on. */
export const reclaimContinues = (
  { id, cluster, node, nodeInstance }: Pick<Command, 'id' | 'cluster' | 'node' | 'nodeInstance'>,
  { reclaim, takenAt, availableNow }: Pick<ReclaimContinues, 'reclaim' | 'takenAt' | 'availableNow'>,
): ReclaimContinues => ({
  type: 'fleetgc.node.reclaim-continues',
  version: 1,
  id: continuesId(id),
  cluster,
  node,
  nodeInstance,
  takenAt,
  commandId: id,
  reclaim,
  availableNow,
});
