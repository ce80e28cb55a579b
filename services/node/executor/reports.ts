import { reportedBytes } from '../../../packages/decision/conclusion.ts';
import { freedSpace } from '../../../packages/decision/freed-space.ts';
import type { Output } from '../../../packages/decision/handler.ts';
import { identityOf } from '../../../packages/decision/record.ts';
import {
  commandResultId,
  nextReclaim,
  objectResultId,
  passFailedId,
  reclaimContinues,
  rejectedResultId,
  removalIntentId,
  unrelievedId,
} from '../../../packages/decision/result-ids.ts';
import type { Command, Holder, ImageRemoval } from '../../../schemas/events/command.ts';
import { type NodeIdentity, nodeKey } from '../../../schemas/events/identity.ts';
import { isForced, type Reclaim } from '../../../schemas/events/reclaim.ts';
import type {
  CommandRefusal,
  CommandResult,
  Measured,
  ObjectOutcome,
  ObjectRefusal,
  ObjectResult,
  PassFailed,
  PassProblem,
  PressureUnrelieved,
  ReclaimContinues,
  RemovalIntent,
} from '../../../schemas/events/result.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import type { EventOf } from '../../../schemas/events/topics.ts';
import type { ItemProgress, JournalEntry, JournalState, LastActions } from './journal.ts';

/** Why something is not removed: a reason of the closed list, and a sentence with the facts. */
export interface Refusal<Reason extends ObjectRefusal = ObjectRefusal> {
  readonly reason: Reason;
  readonly message: string;
}

/** Who reports, when, and whether it is on disk. */
export interface Reporter {
  readonly identity: NodeIdentity;
  readonly at: Instant;
  readonly journal: 'disk' | 'memory';
}

/** What a result as a whole is about; what is refused may be no command. */
type Answered = Pick<Command, 'id'> & Pick<CommandResult, 'decisionId' | 'inventoryId' | 'kind'>;

const header = ({ identity, at, journal }: Reporter, commandId: string) => ({
  version: 1 as const,
  cluster: identity.cluster,
  node: identity.node,
  nodeInstance: identity.nodeInstance,
  at,
  commandId,
  journal,
});

const causesOf = ({ decisionId, inventoryId }: Command) => ({ decisionId, inventoryId });

/** The id follows from the command and the item's place in it, so a repeated report is the same report. */
export const objectResult = (
  reporter: Reporter,
  command: Command,
  { index, item }: { readonly index: number; readonly item: Command['items'][number] },
  result: ObjectOutcome,
): ObjectResult => ({
  type: 'fleetgc.node.object-result',
  ...header(reporter, command.id),
  ...causesOf(command),
  id: objectResultId({ nodeInstance: reporter.identity.nodeInstance, commandId: command.id }, index, item),
  object: { kind: item.kind, id: item.id },
  rule: item.rule,
  result,
});

/** What is about to be removed while nothing but the log can remember it. */
export const removalIntent = (
  reporter: Reporter,
  command: Command,
  { index, item }: { readonly index: number; readonly item: Command['items'][number] },
): RemovalIntent => ({
  type: 'fleetgc.node.removal-intent',
  ...header(reporter, command.id),
  ...causesOf(command),
  id: removalIntentId({ nodeInstance: reporter.identity.nodeInstance, commandId: command.id }, index, item),
  object: { kind: item.kind, id: item.id },
  rule: item.rule,
});

export const commandRefused = (
  reporter: Reporter,
  command: Answered,
  refusal: Refusal<CommandRefusal>,
): CommandResult => commandResult(reporter, command, { outcome: 'refused', ...refusal });

/** What came in place of a command was not read, or not believed. */
export const messageRejected = (
  reporter: Reporter,
  command: Answered,
  refusal: Refusal<CommandRefusal>,
): CommandResult => ({
  ...commandRefused(reporter, command, refusal),
  id: rejectedResultId({ nodeInstance: reporter.identity.nodeInstance, commandId: command.id }, refusal),
});

/** How a command ended as a whole. */
export interface Ending {
  readonly items: JournalEntry['items'];
  readonly measured: Measured | null;
  readonly targetReached: boolean | null;
}

export const commandDone = (
  reporter: Reporter,
  command: Command,
  { items, measured, targetReached }: Ending,
): CommandResult =>
  commandResult(reporter, command, {
    outcome: 'done',
    removed: count(items, 'removed'),
    notFound: count(items, 'not-found'),
    refused: count(items, 'refused'),
    failed: count(items, 'failed'),
    notNeeded: count(items, 'not-needed'),
    notDone: count(items, 'not-done'),
    measured,
    estimatedBytes: estimateOf(command, items),
    targetReached,
  });

/** A command may name any numbers: a sum that no number can hold is told as the largest, since no reader takes another. */
const reportedSum = (numbers: readonly number[]): number =>
  reportedBytes(numbers.reduce((sum, number) => sum + BigInt(number), 0n));

/** Sizes of anything but images are not known before. */
function estimateOf(command: Command, items: JournalEntry['items']): number | null {
  switch (command.kind) {
    case 'container-removal':
      return null;
    case 'image-removal': {
      const removed = command.items.filter((_, index) => isDone(items[index], 'removed'));
      return reportedSum(removed.map(({ estimatedBytes }) => estimatedBytes));
    }
  }
}

export const passFailed = (
  reporter: Reporter,
  command: Command,
  { items, measured }: Ending,
  problem: PassProblem,
): PassFailed => {
  const [removed, failed] = [count(items, 'removed'), count(items, 'failed')];
  const target = command.reclaim?.target ?? null;
  return {
    type: 'fleetgc.node.pass-failed',
    ...header(reporter, command.id),
    ...causesOf(command),
    id: passFailedId({ nodeInstance: reporter.identity.nodeInstance, commandId: command.id }, problem),
    problem,
    removed,
    failed,
    measured,
    target,
    message: `${removed} of ${items.length} removed, ${failed} failed${freedText(measured, estimateOf(command, items))}${targetText(target)}`,
  };
};

function freedText(measured: Measured | null, estimatedBytes: number | null): string {
  if (measured === null) return '';
  const { filesystem, afterBytes } = measured;
  const freed = freedSpace(measured, estimatedBytes);
  const estimate = estimatedBytes === null ? '' : `, ${estimatedBytes} bytes by estimate`;
  const what =
    freed.how === 'measured'
      ? `${freed.bytes} bytes freed on ${filesystem}`
      : `what was freed on ${filesystem} is not measurable, since something else filled it meanwhile${estimate}`;
  return `; ${what}, ${afterBytes} available`;
}

const targetText = (target: PassFailed['target']): string =>
  target === null ? '' : `; wanted: ${target.resource} of ${target.filesystem} at least ${target.atLeast}`;

const commandResult = (
  reporter: Reporter,
  command: Answered,
  result: CommandResult['result'],
): CommandResult => ({
  type: 'fleetgc.node.command-result',
  ...header(reporter, command.id),
  decisionId: command.decisionId,
  inventoryId: command.inventoryId,
  id: commandResultId({ nodeInstance: reporter.identity.nodeInstance, commandId: command.id }),
  kind: command.kind,
  result,
});

export const count = (items: readonly ItemProgress[], outcome: ObjectOutcome['outcome']): number =>
  items.filter((item) => isDone(item, outcome)).length;

const isDone = (item: ItemProgress | undefined, outcome: ObjectOutcome['outcome']): boolean =>
  item?.state === 'done' && item.outcome === outcome;

export const resultOutput = (event: EventOf<'results'>): Output<'results'> => ({
  topic: 'results',
  key: nodeKey(event),
  event,
});

/** A measured amount as events carry it, in decimal digits. */
export const digitsOf = (amount: bigint | null): string | null => (amount === null ? null : String(amount));

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

const goesOn = (command: Command, reclaim: Reclaim, { at, availableNow }: Measurement): ReclaimContinues =>
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

/** A command that was carried out, and what follows for its reclaim. */
export interface Pass {
  readonly command: Command;
  readonly ending: Ending;
  readonly next: AfterCommand | undefined;
}

/**
 * What went wrong in a pass as a whole, by the names of a kubelet's Warning events. That the target is missed is told beside
 * errors too (M18); a failed pass of images only if the one before it failed as well (D19), one of containers always (D20),
 * also for a failed removal, which a kubelet only logs (G1). Of images that an eviction signal forces nothing is told, as by
 * a kubelet (F3, J14): the results tell, and `pressure-unrelieved`.
 */
export function passProblems(pass: Pass, { imagePassFailed }: JournalState): PassProblem[] {
  switch (pass.command.kind) {
    case 'container-removal':
      return hasErrors(pass) ? ['container-gc-failed'] : [];
    case 'image-removal':
      return isOwnImagePass(pass) ? imagePassProblems(pass, imagePassFailed) : [];
  }
}

const imagePassProblems = (pass: Pass, failedBefore: boolean): PassProblem[] => [
  ...(missesTarget(pass) ? (['free-disk-space-failed'] as const) : []),
  ...(isFailed(pass) && failedBefore ? (['image-gc-failed'] as const) : []),
];

/** What is remembered for the next pass of images; forced ones and those of other objects leave it as it is. */
export const withPass = (state: JournalState, pass: Pass): JournalState =>
  isOwnImagePass(pass) ? { ...state, imagePassFailed: isFailed(pass) } : state;

/** One of image GC's own passes, by age or by usage: the kubelet's periodic ones. */
const isOwnImagePass = ({ command: { kind, reclaim } }: Pass): boolean =>
  kind === 'image-removal' && (reclaim === null || !isForced(reclaim));

const isFailed = (pass: Pass): boolean => hasErrors(pass) || missesTarget(pass);

const hasErrors = ({ ending }: Pass): boolean => count(ending.items, 'failed') > 0;

/** A round after which another follows has not missed it yet (D17). */
const missesTarget = ({ ending, next }: Pass): boolean =>
  ending.targetReached === false && next?.type === 'fleetgc.node.pressure-unrelieved';
