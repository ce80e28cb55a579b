import type { Logger } from 'pino';
import { z } from 'zod';
import type { Handler, Input } from '../../../packages/decision/handler.ts';
import type { NodeClock } from '../../../packages/machine/clock.ts';
import { answerRejected, otherInstance, requireRoom } from '../../../packages/records/commands.ts';
import type { OnRejection } from '../../../packages/records/decide.ts';
import { type Command, MAX_COMMAND_BYTES } from '../../../schemas/events/command.ts';
import { EventId } from '../../../schemas/events/event-id.ts';
import { type NodeIdentity, nodeKey } from '../../../schemas/events/identity.ts';
import { type CommandRefusal, CommandResult } from '../../../schemas/events/result.ts';
import { timeRefusal } from './checks.ts';
import {
  accepted,
  answered,
  type Journal,
  type JournalEntry,
  knows,
  MAX_UNPUBLISHED,
  MAX_WAITING,
  pushedOut,
  type Unpublished,
  waitingEntries,
} from './journal.ts';
import type { ExecutorMetrics } from './metrics.ts';
import {
  afterRefusal,
  commandRefused,
  messageRejected,
  type Refusal,
  type Reporter,
  resultOutput,
} from './reports.ts';

interface Receiver {
  readonly identity: NodeIdentity;
  readonly journal: Journal;
  readonly clock: NodeClock;
  /** Who reports, at this moment. */
  readonly reporter: () => Reporter;
  readonly logger: Logger;
  readonly metrics: ExecutorMetrics;
}

/**
 * The receiving half: writes a command to the journal and returns, since one slow removal would outlast a consumer's
 * session. What it publishes goes by way of the journal, so it returns no outputs.
 */
export function receiveCommands(receiver: Receiver): Handler<Command> {
  return (input) => {
    receive(input, receiver);
    return [];
  };
}

function receive(input: Input<Command>, receiver: Receiver): void {
  const { event: command } = input;
  const { identity, journal, clock } = receiver;
  // Other nodes share the partition.
  if (nodeKey(command) !== nodeKey(identity) || knows(journal.state(), command.id)) return;
  requireRoom(journal.state().unpublished.length, MAX_UNPUBLISHED);
  const refusal =
    sizeRefusal(input) ??
    otherInstance('node', command.nodeInstance, identity.nodeInstance) ??
    timeRefusal(command, clock.now());
  if (refusal) {
    answer(input, refusal, receiver);
    return;
  }
  dropOldestWaiting(command, receiver);
  journal.update((state) => accepted(state, entryOf(input)));
}

/** No decision service writes one that large, and the journal has room for so much. */
function sizeRefusal({ event, bytes }: Input<Command>): Refusal<CommandRefusal> | undefined {
  const { length } = bytes ?? Buffer.from(JSON.stringify(event));
  if (length <= MAX_COMMAND_BYTES) return undefined;
  const message = `the command has ${length} bytes; at most ${MAX_COMMAND_BYTES} are taken`;
  return { reason: 'malformed', message };
}

function answer(
  { event, trace }: Input<Command>,
  refusal: Refusal<CommandRefusal>,
  receiver: Receiver,
): void {
  const outputs = refusalOutputs(event, refusal, receiver);
  const answers = outputs.map((output) => ({ trace: trace ?? null, output }));
  receiver.journal.update((state) => answered(state, event.id, answers));
  reportRefusal(receiver, event.id, refusal);
}

/** The refusal, and what it means for the reclaim: nobody measures here, since a disk can keep a consumer waiting. */
function refusalOutputs(
  command: Command,
  refusal: Refusal<CommandRefusal>,
  receiver: Receiver,
  isContinued = false,
): Unpublished['output'][] {
  const result = resultOutput(commandRefused(receiver.reporter(), command, refusal));
  const { reason } = refusal;
  const at = receiver.clock.now();
  const next = afterRefusal(command, { reason, isContinued, targetReached: null, availableNow: null, at });
  return next ? [result, resultOutput(next)] : [result];
}

function reportRefusal(
  { logger, metrics }: Receiver,
  commandId: string,
  refusal: Refusal<CommandRefusal>,
): void {
  metrics.commands.add({ outcome: refusal.reason });
  logger.warn({ commandId, ...refusal }, 'command refused');
}

function dropOldestWaiting({ reclaim }: Command, receiver: Receiver): void {
  const { journal } = receiver;
  const { entries } = journal.state();
  const waiting = waitingEntries(journal.state());
  const [oldest] = waiting;
  if (!oldest || waiting.length < MAX_WAITING) return;
  const refusal = {
    reason: 'superseded',
    message: `${MAX_WAITING} later commands of the node are waiting`,
  } as const;
  const others = [
    reclaim,
    ...entries.filter((entry) => entry !== oldest).map(({ command }) => command.reclaim),
  ];
  const isContinued = others.some((other) => other?.id === oldest.command.reclaim?.id);
  const outputs = refusalOutputs(oldest.command, refusal, receiver, isContinued);
  const last = outputs.map((output) => ({ trace: oldest.trace, output }));
  journal.update((state) => pushedOut(state, oldest, last));
  reportRefusal(receiver, oldest.command.id, refusal);
}

const entryOf = ({ event, trace, signedBy }: Input<Command>): JournalEntry => ({
  command: event,
  trace: trace ?? null,
  signedBy: signedBy ?? null,
  before: null,
  items: event.items.map(() => ({ state: 'waiting' })),
});

/** What can be told of a command that is none: nothing of it is believed beyond its names. */
const Named = z.object({
  id: EventId.optional().catch(undefined),
  decisionId: EventId.nullable().catch(null),
  inventoryId: EventId.nullable().catch(null),
  kind: CommandResult.shape.kind.catch('unknown'),
});
const NAMELESS = { id: undefined, decisionId: null, inventoryId: null, kind: 'unknown' } as const;

/**
 * What a message on this node's key gets that is no command. The id of the refusal follows from the command and the reason: a repetition
 * gives the same refusal, or another one beside it if it is refused for something else by then, such as a key that was taken back meanwhile.
 */
export const refuseRejected = (receiver: Receiver): OnRejection =>
  answerRejected({
    topic: 'commands',
    key: nodeKey(receiver.identity),
    named: (value) => Named.safeParse(value).data ?? NAMELESS,
    refused: (command, { reason, message }, cause) => {
      const refusal = { reason: cause === 'key-mismatch' ? 'other-node' : reason, message } as const;
      receiver.metrics.commands.add({ outcome: refusal.reason });
      return resultOutput(messageRejected(receiver.reporter(), command, refusal));
    },
  });
