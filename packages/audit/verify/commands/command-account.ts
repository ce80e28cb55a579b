import type { Command } from '../../../../schemas/events/command.ts';
import { nodeKey } from '../../../../schemas/events/identity.ts';
import type {
  CommandResult,
  ObjectResult,
  PassFailed,
  RemovalIntent,
} from '../../../../schemas/events/result.ts';
import { canonicalJson, sha256Hex } from '../../../canonical/ids.ts';
import {
  commandResultId,
  objectResultId,
  passFailedId,
  rejectedResultId,
  removalIntentId,
} from '../../../decision/result-ids.ts';
import type { LogRecord } from '../../../log/port.ts';
import type { Rejection } from '../../../records/parse/parse-record.ts';
import { objectKey } from '../../events/identity.ts';
import type { Place } from '../../events/log-position.ts';
import type { Findings } from '../findings.ts';

/** What an executor says of a command or its objects. */
export type Answer = ObjectResult | RemovalIntent | CommandResult | PassFailed;

export interface Placed<Event> {
  readonly event: Event;
  readonly place: Place;
}

/** What of a command its results are checked against. */
export type Commanded = Pick<
  Command,
  'id' | 'cluster' | 'node' | 'nodeInstance' | 'decisionId' | 'inventoryId' | 'lifetimeMs'
> & { readonly items: readonly Pick<Command['items'][number], 'kind' | 'id' | 'rule'>[] };

/** A command and what became of it so far. */
export interface Account {
  readonly command: Placed<Commanded>;
  /** One for each object, by its name. */
  readonly objects: Map<string, Placed<ObjectResult>>;
  /** Objects that were announced before they were removed, by their names. */
  readonly announced: Map<string, Place>;
  ending: Placed<CommandResult> | null;
  /**
   * Whether an executor refused it that it was not for, or that did not believe who signed it; what its own executor says
   * comes beside that, or never.
   */
  isTurnedAway: boolean;
}

/** Many are kept, and most of a command is not needed for it. */
export function openAccount(command: Command, place: Place): Account {
  const { id, cluster, node, nodeInstance, decisionId, inventoryId, lifetimeMs } = command;
  const items = command.items.map((item) => ({ kind: item.kind, id: item.id, rule: item.rule }));
  const event = { id, cluster, node, nodeInstance, decisionId, inventoryId, lifetimeMs, items };
  return {
    command: { event, place },
    objects: new Map(),
    announced: new Map(),
    ending: null,
    isTurnedAway: false,
  };
}

/** Takes an answer that agrees with its command; else says why it does not. */
export function takeAnswer(account: Account, { event, place }: Placed<Answer>): Disagreement | null {
  const problem = disagreement(account.command.event, event);
  if (problem !== null) return problem;
  if (isOfBystander(event, account.command.event)) account.isTurnedAway = true;
  else if (event.type === 'fleetgc.node.object-result')
    account.objects.set(objectKey(event.object), { event, place });
  else if (event.type === 'fleetgc.node.removal-intent')
    account.announced.set(objectKey(event.object), place);
  else if (event.type === 'fleetgc.node.command-result') account.ending = { event, place };
  return null;
}

/**
 * Whether it is the refusal of another installation than the command is for: two machines under one name each refuse what is for the
 * other, whatever the other does with it.
 */
export const isOfBystander = (answer: Answer, command: Pick<Commanded, 'nodeInstance'>): boolean =>
  answer.type === 'fleetgc.node.command-result' &&
  answer.nodeInstance !== command.nodeInstance &&
  answer.result.outcome === 'refused' &&
  answer.result.reason === 'other-instance';

export const tellDisagreement = (
  { deviation }: Pick<Findings, 'deviation'>,
  { kind, message }: Disagreement,
  answer: Placed<Answer>,
  account?: Account,
): void =>
  deviation({
    kind,
    message,
    node: nodeKey(answer.event),
    places: [answer.place, ...(account ? [account.command.place] : [])],
  });

export interface Disagreement {
  readonly kind: 'result-differs' | 'not-commanded';
  readonly message: string;
}

/** What of an answer cannot be, by the command alone. */
function disagreement(command: Commanded, answer: Answer): Disagreement | null {
  const differs = (message: string): Disagreement => ({ kind: 'result-differs', message });
  if (nodeKey(answer) !== nodeKey(command))
    return differs(`it is of ${nodeKey(answer)}, and the command of ${nodeKey(command)}`);
  if (answer.decisionId !== command.decisionId || answer.inventoryId !== command.inventoryId)
    return differs('it names another decision or inventory than the command');
  const by = { nodeInstance: answer.nodeInstance, commandId: command.id };
  if (answer.type === 'fleetgc.node.object-result' || answer.type === 'fleetgc.node.removal-intent')
    return objectDisagreement(command, answer);
  return idsOf(answer, by).includes(answer.id) ? null : differs('its id does not follow from its command');
}

/** Those that an answer about the whole command may have. */
function idsOf(
  answer: CommandResult | PassFailed,
  by: { readonly nodeInstance: string; readonly commandId: string },
): readonly string[] {
  if (answer.type === 'fleetgc.node.pass-failed') return [passFailedId(by, answer.problem)];
  const { result } = answer;
  const own = commandResultId(by);
  return result.outcome === 'refused' ? [own, rejectedResultId(by, result)] : [own];
}

function objectDisagreement(command: Commanded, answer: ObjectResult | RemovalIntent): Disagreement | null {
  const { object, rule, nodeInstance } = answer;
  const isResult = answer.type === 'fleetgc.node.object-result';
  const idOf = isResult ? objectResultId : removalIntentId;
  const index = command.items.findIndex(({ kind, id }) => kind === object.kind && id === object.id);
  const item = command.items[index];
  if (item === undefined)
    return {
      kind: 'not-commanded',
      message: `${objectKey(object)}: ${isResult ? answer.result.outcome : 'announced'}, and the command does not name it`,
    };
  const by = { nodeInstance, commandId: command.id };
  const problem =
    (nodeInstance !== command.nodeInstance && 'it is of another installation of the node than the command') ||
    (answer.id !== idOf(by, index, object) && 'its id does not follow from its command and object') ||
    (rule !== item.rule && `it gives rule ${rule}, and the command ${item.rule}`);
  return problem === false ? null : { kind: 'result-differs', message: problem };
}

const COUNTED = {
  removed: 'removed',
  'not-found': 'notFound',
  refused: 'refused',
  failed: 'failed',
  'not-needed': 'notNeeded',
  'not-done': 'notDone',
} as const;

/**
 * Where the results of a command's objects are not those that its own result counts; where only `some` of them were
 * read, there must not be more.
 */
function miscount({ objects }: Account, { result }: CommandResult, known: 'all' | 'some'): string | null {
  if (result.outcome === 'refused')
    return objects.size === 0
      ? null
      : `the command was refused, and ${objects.size} of its objects have results`;
  const outcomes = [...objects.values()].map(({ event }) => event.result.outcome);
  for (const [outcome, field] of Object.entries(COUNTED)) {
    const there = outcomes.filter((one) => one === outcome).length;
    if (there > result[field] || (known === 'all' && there < result[field]))
      return `the result of the command counts ${result[field]} ${outcome}, and the log has ${there} such results of its objects`;
  }
  return null;
}

/** Checks the result of a command against those of its objects. */
export function judgeEnding(
  { deviation }: Pick<Findings, 'deviation'>,
  account: Account,
  known: 'all' | 'some',
): void {
  const { ending, command } = account;
  const message = ending === null ? null : miscount(account, ending.event, known);
  if (ending === null || message === null) return;
  const places = [ending.place, command.place];
  deviation({ kind: 'result-missing', message, node: nodeKey(ending.event), places });
}

/**
 * What must not change between two records of one result; who refuses a command again says when. The order of members may: what
 * an executor finds in its journal after a kill has that of the schema.
 */
export function steadyContent(event: Answer, value: unknown): string {
  const isRefusal = event.type === 'fleetgc.node.command-result' && event.result.outcome === 'refused';
  return canonicalJson(isRefusal ? [event.commandId, event.result] : value);
}

/** How executors name what they did not read in their answer: it is no command, or nobody signed it whom they believe. */
export const namelessId = ({ value }: LogRecord): string =>
  `unreadable-${sha256Hex(value ?? '').slice(0, 32)}`;

/** Whether it is the refusal of a command that was not read, since nobody signed it who may. */
export const isDistrust = (answer: Answer): boolean =>
  answer.type === 'fleetgc.node.command-result' &&
  answer.result.outcome === 'refused' &&
  answer.result.reason === 'not-trusted';

/** How executors name what is no command in their answer. */
export function namesOfUnreadable(record: LogRecord, { value }: Rejection): readonly string[] {
  const id = typeof value === 'object' && value !== null && 'id' in value ? value.id : undefined;
  const nameless = namelessId(record);
  return typeof id === 'string' ? [id, nameless] : [nameless];
}
