import type { Command } from '../../schemas/command.ts';
import { type NodeIdentity, nodeKey } from '../../schemas/identity.ts';
import { OBSERVE_LIFETIME_MS, type Observe } from '../../schemas/observe.ts';
import { MAX_RECLAIM_ROUNDS, type Reclaim } from '../../schemas/reclaim.ts';
import type { PressureUnrelieved } from '../../schemas/result.ts';
import type { Instant } from '../../schemas/time.ts';
import { deriveId } from '../shared/ids.ts';
import type { Unpublished } from './journal-state.ts';

/** How a command of a reclaim ended. */
export interface ReclaimState {
  readonly removed: number;
  /** Objects that the executor did not come to. */
  readonly notDone: number;
  /** As measured; `null` when it could not be. */
  readonly targetReached: boolean | null;
  readonly availableNow: bigint | null;
  readonly at: Instant;
}

/**
 * What follows from a command that was carried out: nothing once the target is reached; the images after the
 * containers; the next round of images while rounds remove something; else the end of the reclaim above its target. That
 * is not said where objects were left undone: nobody knows then what could not be relieved.
 */
export function afterCommand(command: Command, state: ReclaimState): Unpublished['output'] | undefined {
  const { reclaim } = command;
  if (reclaim === null || state.targetReached === true) return undefined;
  if (reclaim.step === 'containers')
    return observe(command, { ...reclaim, step: 'images', round: 1 }, state.at);
  if (state.removed > 0 && reclaim.round < MAX_RECLAIM_ROUNDS) {
    return observe(command, { ...reclaim, round: reclaim.round + 1 }, state.at);
  }
  return state.notDone > 0 ? undefined : unrelieved(command, reclaim, state);
}

/**
 * Another command acted on the containers since the inventory: what this one wanted may be done or not, so the reclaim
 * goes on to its images with fresh facts instead of ending silently.
 */
export function afterSuperseded(command: Command, at: Instant): Unpublished['output'] | undefined {
  const { reclaim } = command;
  return reclaim?.step === 'containers'
    ? observe(command, { ...reclaim, step: 'images', round: 1 }, at)
    : undefined;
}

function observe(command: Command, reclaim: Reclaim, at: Instant): Unpublished['output'] {
  const event: Observe = {
    type: 'fleetgc.node.observe',
    version: 1,
    id: deriveId('observe', command.id, reclaim.step, String(reclaim.round)),
    ...identityOf(command),
    takenAt: at,
    lifetimeMs: OBSERVE_LIFETIME_MS,
    reclaim,
  };
  return { topic: 'observe', key: nodeKey(command), event };
}

function unrelieved(
  command: Command,
  reclaim: Reclaim,
  { availableNow, at }: ReclaimState,
): Unpublished['output'] {
  const event: PressureUnrelieved = {
    type: 'fleetgc.node.pressure-unrelieved',
    version: 1,
    id: deriveId('pressure-unrelieved', command.id),
    ...identityOf(command),
    takenAt: at,
    reclaim,
    availableNow: availableNow === null ? null : String(availableNow),
    holders: command.kind === 'image-removal' ? command.holders : [],
  };
  return { topic: 'results', key: nodeKey(command), event };
}

const identityOf = ({ cluster, node, nodeInstance }: NodeIdentity): NodeIdentity => ({
  cluster,
  node,
  nodeInstance,
});
