import type { Logger } from 'pino';
import type { Command } from '../../schemas/command.ts';
import { type NodeIdentity, nodeKey } from '../../schemas/identity.ts';
import type { CommandRefusal } from '../../schemas/result.ts';
import type { NodeClock } from '../shared/clock.ts';
import { FleetGcError } from '../shared/errors.ts';
import type { Handler, Input } from '../shared/handler.ts';
import { timeRefusal } from './command-checks.ts';
import type { Journal } from './journal.ts';
import {
  accepted,
  answered,
  finished,
  type JournalEntry,
  type JournalState,
  knows,
} from './journal-state.ts';
import type { ExecutorMetrics } from './metrics.ts';
import { commandRefused, type Refusal, type Reporter, resultOutput } from './results.ts';

/** More commands than this do not wait: the oldest not begun rests on the oldest facts and makes room. */
export const MAX_WAITING = 16;
/** With so many events the log is not taking, no more commands are taken from it either. */
export const MAX_UNPUBLISHED = 1_000;

export interface Receiver {
  readonly identity: NodeIdentity;
  readonly journal: Journal;
  readonly clock: NodeClock;
  readonly logger: Logger;
  readonly metrics: Pick<ExecutorMetrics, 'commands'>;
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
  if (journal.state().unpublished.length > MAX_UNPUBLISHED) throw resultsPileUp();
  const refusal = instanceRefusal(command, identity) ?? timeRefusal(command, clock.now());
  if (refusal) {
    answer(input, refusal, receiver);
    return;
  }
  makeRoom(receiver);
  journal.update((state) => accepted(state, entryOf(input)));
}

function instanceRefusal(
  { nodeInstance }: Command,
  identity: NodeIdentity,
): Refusal<CommandRefusal> | undefined {
  if (nodeInstance === identity.nodeInstance) return undefined;
  const message = `the command is for instance ${nodeInstance} of this node; this is ${identity.nodeInstance}`;
  return { reason: 'other-instance', message };
}

function answer(
  { event, trace }: Input<Command>,
  refusal: Refusal<CommandRefusal>,
  receiver: Receiver,
): void {
  const output = resultOutput(commandRefused(reporterOf(receiver), event, refusal));
  receiver.journal.update((state) => answered(state, event.id, { trace: trace ?? null, output }));
  tellRefusal(receiver, event.id, refusal);
}

function tellRefusal(
  { logger, metrics }: Receiver,
  commandId: string,
  refusal: Refusal<CommandRefusal>,
): void {
  metrics.commands.add({ outcome: refusal.reason });
  logger.warn({ commandId, ...refusal }, 'command refused');
}

function makeRoom(receiver: Receiver): void {
  const { journal } = receiver;
  const waiting = journal.state().entries.filter(({ before }) => before === null);
  const [oldest] = waiting;
  if (!oldest || waiting.length < MAX_WAITING) return;
  const refusal = {
    reason: 'superseded',
    message: `${MAX_WAITING} later commands of the node are waiting`,
  } as const;
  const output = resultOutput(commandRefused(reporterOf(receiver), oldest.command, refusal));
  const drop = (state: JournalState): JournalState =>
    finished(state, oldest.command.id, [{ trace: oldest.trace, output }]);
  journal.update(drop);
  tellRefusal(receiver, oldest.command.id, refusal);
}

const entryOf = ({ event, bytes, trace }: Input<Command>): JournalEntry => ({
  raw: (bytes ?? Buffer.from(JSON.stringify(event))).toString('base64'),
  command: event,
  trace: trace ?? null,
  before: null,
  items: event.items.map(() => ({ state: 'waiting' })),
});

export const reporterOf = ({
  identity,
  journal,
  clock,
}: Pick<Receiver, 'identity' | 'journal' | 'clock'>): Reporter => ({
  identity,
  at: clock.now(),
  journal: journal.kept(),
});

const resultsPileUp = (): FleetGcError =>
  new FleetGcError(
    'LOG_UNREACHABLE',
    `${MAX_UNPUBLISHED} results wait to be published, so no more commands are taken; look at why the log does not take them`,
  );
