import { identityOf } from '../../../../packages/decision/decision-record.ts';
import { nextReclaim, reclaimContinues } from '../../../../packages/decision/next-reclaim.ts';
import { unrelievedId } from '../../../../packages/decision/result-ids.ts';
import type { Command, Holder, ImageRemoval } from '../../../../schemas/events/command.ts';
import type { Reclaim } from '../../../../schemas/events/reclaim.ts';
import type {
  CommandRefusal,
  ObjectOutcome,
  PressureUnrelieved,
  ReclaimContinues,
} from '../../../../schemas/events/result.ts';
import type { Instant } from '../../../../schemas/events/time.ts';
import type { ItemProgress, JournalEntry, LastActions } from '../journal/journal-state.ts';
import { count, digitsOf, reportedSum } from './results.ts';

/** What the filesystem of a reclaim had at the end of a command. */
export interface Measurement {
  /** As measured; `null` when it could not be. */
  readonly targetReached: boolean | null;
  readonly availableNow: bigint | null;
  readonly at: Instant;
}

/** How a command of a reclaim ended. */
interface ReclaimState extends Measurement {
  readonly items: JournalEntry['items'];
  /** The node is paused or held: no order would come to anything. */
  readonly isHolding: boolean;
}

/** A reclaim goes on, or ends above its target. */
export type AfterCommand = ReclaimContinues | PressureUnrelieved;

/**
 * What follows from a command that was carried out: nothing once the target is reached (M21); the next round of
 * images while another may find others; the next action; else the end of the reclaim above its target. That is not said
 * where objects were left undone: nobody knows then what could not be relieved.
 */
export function afterCommand(command: Command, state: ReclaimState): AfterCommand | undefined {
  const { reclaim } = command;
  if (reclaim === null || state.targetReached === true) return undefined;
  if (state.isHolding) return unrelieved(command, reclaim, { ...state, isHeld: true });
  const next = nextReclaim(reclaim, state.items.some(isReplaced));
  if (next !== null) return goesOn(command, next, state);
  return count(state.items, 'not-done') > 0 ? undefined : unrelieved(command, reclaim, state);
}

/** Why nothing of a command was done. */
interface Refused extends Measurement {
  readonly reason: CommandRefusal;
  /** Another command of the same reclaim acted, waits or is in hand: what follows is for that one to say. */
  readonly isContinued: boolean;
}

/**
 * What follows from a command that was refused whole. Where another command was first, or another policy is in force, the
 * reclaim goes on with fresh facts, within its rounds; any other refusal ends it, and that is said unless the target is reached all the same.
 */
export function afterRefusal(command: Command, refused: Refused): AfterCommand | undefined {
  const { reclaim } = command;
  const { reason, isContinued, targetReached } = refused;
  if (reclaim === null || targetReached === true || SAYS_NOTHING.includes(reason)) return undefined;
  if (DECIDED_AGAIN.includes(reason)) {
    if (isContinued) return undefined;
    const next = nextReclaim(reclaim, true);
    if (next !== null) return goesOn(command, next, refused);
  }
  return unrelieved(command, reclaim, { ...refused, items: [], isHeld: HOLDING.includes(reason) });
}

const HOLDING: readonly CommandRefusal[] = ['paused', 'held'];

/** Another command was first, or another policy is in force: what follows from either is decided on fresh facts. */
const DECIDED_AGAIN: readonly CommandRefusal[] = ['superseded', 'policy-not-in-force'];

/** Reclaims of others, and of whoever is not believed, say nothing about the disk of this node. */
const SAYS_NOTHING: readonly CommandRefusal[] = ['other-node', 'other-instance', 'not-trusted'];

/** What follows from a command that the executor could not bring to its end: the reclaim ends with it. */
export function afterAbandoned(
  command: Command,
  state: Measurement & Pick<ReclaimState, 'items'>,
): AfterCommand | undefined {
  const { reclaim } = command;
  return reclaim === null || state.targetReached === true ? undefined : unrelieved(command, reclaim, state);
}

/** Whether an action of another command of the same reclaim is among the last ones on the kinds of this command. */
export function isContinuedBy({ id, items, reclaim }: Command, lastActions: LastActions): boolean {
  return items.some(({ kind }) => {
    const last = lastActions[kind];
    return last !== null && last.commandId !== id && last.reclaimId === reclaim?.id;
  });
}

/**
 * What is gone frees, and what failed or was refused is seen so by the next look: in either case the next round has others in its
 * place (D11, M17).
 */
const isReplaced = (item: ItemProgress): boolean =>
  item.state === 'done' && !NOT_COME_TO.includes(item.outcome);

const NOT_COME_TO: readonly ObjectOutcome['outcome'][] = ['not-needed', 'not-done'];

const goesOn = (
  command: Command,
  reclaim: Reclaim,
  { at, availableNow }: Pick<Measurement, 'at' | 'availableNow'>,
): ReclaimContinues =>
  reclaimContinues(command, { reclaim, takenAt: at, availableNow: digitsOf(availableNow) });

function unrelieved(
  command: Command,
  reclaim: Reclaim,
  {
    availableNow,
    at,
    items,
    isHeld = false,
  }: Omit<Measurement, 'targetReached'> & Pick<ReclaimState, 'items'> & { readonly isHeld?: boolean },
): PressureUnrelieved {
  return {
    type: 'fleetgc.node.pressure-unrelieved',
    version: 1,
    id: unrelievedId(command.id),
    ...identityOf(command),
    takenAt: at,
    reclaim,
    availableNow: digitsOf(availableNow),
    holders: holdersAfter(command, items, isHeld),
  };
}

/**
 * What holds the space after a command (M8): what image-gc said of the images that were not to go, and those of the
 * command that stayed all the same. `items` is empty when nothing of the command was begun; `isHeld`: a pause or the node's
 * own file ended it.
 */
function holdersAfter(command: Command, items: JournalEntry['items'], isHeld: boolean): Holder[] {
  switch (command.kind) {
    case 'container-removal':
      return [];
    case 'image-removal':
      return holdersOfImages(command, items, isHeld ? 'held' : 'waiting');
  }
}

function holdersOfImages(
  command: ImageRemoval,
  items: JournalEntry['items'],
  left: 'waiting' | 'held',
): Holder[] {
  const stayed = command.items.flatMap(({ estimatedBytes }, index): Holder[] => {
    const reason = reasonToStay(items[index], left);
    return reason ? [{ reason, objects: 1, bytes: estimatedBytes }] : [];
  });
  return [...Map.groupBy([...command.holders, ...stayed], ({ reason }) => reason)].map(together);
}

function reasonToStay(
  progress: ItemProgress | undefined,
  left: 'waiting' | 'held',
): 'waiting' | 'held' | 'backing-off' | undefined {
  if (progress?.state !== 'done') return left;
  switch (progress.outcome) {
    case 'removed':
    case 'not-found':
      return undefined;
    case 'failed':
      return 'backing-off';
    case 'refused':
    case 'not-needed':
    case 'not-done':
      return left;
  }
}

const together = ([reason, holders]: readonly [Holder['reason'], readonly Holder[]]): Holder => ({
  reason,
  objects: reportedSum(holders.map(({ objects }) => objects)),
  bytes: reportedSum(holders.map(({ bytes }) => bytes)),
});
