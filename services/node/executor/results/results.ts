import { reportedBytes } from '../../../../packages/decision/conclusion.ts';
import { freedSpace } from '../../../../packages/decision/freed-space.ts';
import type { Output } from '../../../../packages/decision/handler.ts';
import {
  commandResultId,
  objectResultId,
  passFailedId,
  rejectedResultId,
  removalIntentId,
} from '../../../../packages/decision/result-ids.ts';
import type { Command } from '../../../../schemas/events/command.ts';
import { type NodeIdentity, nodeKey } from '../../../../schemas/events/identity.ts';
import type {
  CommandRefusal,
  CommandResult,
  Measured,
  ObjectOutcome,
  ObjectRefusal,
  ObjectResult,
  PassFailed,
  PassProblem,
  RemovalIntent,
} from '../../../../schemas/events/result.ts';
import type { Instant } from '../../../../schemas/events/time.ts';
import type { EventOf } from '../../../../schemas/events/topics.ts';
import type { ItemProgress, JournalEntry } from '../journal/journal-state.ts';

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
export const reportedSum = (numbers: readonly number[]): number =>
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
