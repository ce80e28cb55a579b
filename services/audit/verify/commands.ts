import type { Command } from '../../../schemas/command.ts';
import { nodeKey } from '../../../schemas/identity.ts';
import type { CommandResult, ObjectResult, PassFailed } from '../../../schemas/result.ts';
import type { LogRecord } from '../../shared/event-log/port.ts';
import {
  commandResultId,
  nextOrderId,
  objectResultId,
  passFailedId,
  unrelievedId,
} from '../../shared/result-ids.ts';
import { type Coverage, type Judging, LATE_RESULT_MS } from './coverage.ts';
import type { Effect } from './decided-outputs.ts';
import { type Findings, type Place, placeOf } from './findings.ts';
import { objectName } from './removable.ts';

/** Orders of a reclaim come within minutes; so many reclaims are remembered. */
const MOST_RECLAIMS = 5_000;

/** What an executor says of a command or its objects. */
export type Answer = ObjectResult | CommandResult | PassFailed;

interface Placed<Event> {
  readonly event: Event;
  readonly place: Place;
}

/** A command and what became of it so far. */
interface Account {
  readonly command: Placed<Command>;
  /** One for each object, by its name. */
  readonly objects: Map<string, Placed<ObjectResult>>;
  ending: Placed<CommandResult> | null;
}

/** Brings together commands and their results, in whatever order they come, and judges what stays alone. */
export function createCommands(findings: Findings, coverage: Coverage) {
  const accounts = new Map<string, Account>();
  /** Commands that have no account: from before the range, with all their results, or unreadable. */
  const others = new Map<string, 'before' | 'settled' | 'unreadable'>();
  const early = new Map<string, Placed<Answer>[]>();
  /** By reclaim, the commands that an executor may go on from. */
  const byReclaim = new Map<string, string[]>();
  /** By node instance, the offset of the last command that was answered, and when. */
  const answered = new Map<string, { readonly offset: bigint; readonly atMs: number }>();

  const deviate = (
    kind: 'result-differs' | 'not-commanded',
    message: string,
    answer: Placed<Answer>,
    account?: Account,
  ) =>
    findings.deviation({
      kind,
      message,
      node: nodeKey(answer.event),
      places: [answer.place, ...(account ? [account.command.place] : [])],
    });

  const add = (account: Account, answer: Placed<Answer>): void => {
    const problem = disagreement(account.command.event, answer.event);
    if (problem !== null) {
      deviate(problem.kind, problem.message, answer, account);
      return;
    }
    const { event, place } = answer;
    if (event.type === 'fleetgc.node.object-result')
      account.objects.set(objectName(event.object), { event, place });
    if (event.type !== 'fleetgc.node.command-result') return;
    account.ending = { event, place };
    const offset = BigInt(account.command.place.offset);
    const last = answered.get(event.nodeInstance);
    if (last === undefined || last.offset < offset)
      answered.set(event.nodeInstance, { offset, atMs: place.timestampMs });
  };

  const noteReclaim = ({ id, reclaim }: Command): void => {
    if (reclaim === null) return;
    byReclaim.set(reclaim.id, [...(byReclaim.get(reclaim.id) ?? []), id]);
    const [oldest] = byReclaim.keys();
    if (byReclaim.size > MOST_RECLAIMS && oldest !== undefined) byReclaim.delete(oldest);
  };

  const settle = ({ command }: Account): void => {
    accounts.delete(command.event.id);
    others.set(command.event.id, 'settled');
  };

  const addWithoutAccount = (answer: Placed<Answer>): void => {
    const { commandId } = answer.event;
    const other = others.get(commandId);
    if (other === undefined) early.set(commandId, [...(early.get(commandId) ?? []), answer]);
    if (other === 'before') findings.counts.outOfRange++;
    if (other === 'settled')
      deviate('result-differs', 'it came when all results of its command were there long since', answer);
  };

  const judgeEnded = (account: Account, ending: Placed<CommandResult>): true => {
    const problem = miscount(account, ending.event);
    if (problem !== null)
      findings.deviation({
        kind: 'result-missing',
        message: problem,
        node: nodeKey(ending.event),
        places: [ending.place, account.command.place],
      });
    return true;
  };

  /** Its node was away, unless it told of some objects and went on with later commands. */
  const judgeUnanswered = (account: Account, { beforeMs, atEnd }: Judging, lastMs: number): boolean => {
    const { event, place } = account.command;
    const later = answered.get(event.nodeInstance);
    const wentOn = later !== undefined && later.offset > BigInt(place.offset) && later.atMs < beforeMs;
    if (wentOn && account.objects.size > 0) {
      findings.deviation({
        kind: 'result-missing',
        message: `${account.objects.size} of its objects have results, the command itself has none, and the executor answered later commands`,
        node: nodeKey(event),
        places: [place, ...[...account.objects.values()].map((object) => object.place)],
      });
      return true;
    }
    if (!atEnd) return false;
    if (place.timestampMs + event.lifetimeMs < lastMs) findings.counts.expired++;
    else findings.counts.open++;
    return true;
  };

  /** Whether nothing more is expected of it. */
  const judgeAccount = (account: Account, judging: Judging, lastMs: number): boolean =>
    account.ending === null ? judgeUnanswered(account, judging, lastMs) : judgeEnded(account, account.ending);

  const judgeEarly = (id: string, answers: readonly Placed<Answer>[]): void => {
    early.delete(id);
    for (const answer of answers) {
      if (answer.place.timestampMs - LATE_RESULT_MS < coverage('commands')) findings.counts.outOfRange++;
      else deviate('not-commanded', `there is no command ${id}`, answer);
    }
  };

  return {
    commanded: (event: Command, record: LogRecord): void => {
      const account: Account = {
        command: { event, place: placeOf(record) },
        objects: new Map(),
        ending: null,
      };
      accounts.set(event.id, account);
      noteReclaim(event);
      for (const answer of early.get(event.id) ?? []) add(account, answer);
      early.delete(event.id);
    },
    /** Something on the topic of commands that is none: executors answer it by this id. */
    unreadable: (id: string): void => void others.set(id, 'unreadable'),
    /** One that is read ahead of the range. */
    commandedBefore: (event: Command): void => {
      others.set(event.id, 'before');
      noteReclaim(event);
    },
    answered: (event: Answer, record: LogRecord): void => {
      const answer = { event, place: placeOf(record) };
      const account = accounts.get(event.commandId);
      if (account === undefined) addWithoutAccount(answer);
      else add(account, answer);
    },
    /** Whether an executor goes on by this after a command of the same reclaim. */
    follows: (event: Effect['event']): boolean => {
      if (event.type === 'fleetgc.node.command') return false;
      const { id, reclaim } = event;
      const commands = byReclaim.get(reclaim.id) ?? [];
      return commands.some((command) => id === nextOrderId(command, reclaim) || id === unrelievedId(command));
    },
    /** `lastMs`: the time that the log has come to. */
    judge: (judging: Judging, lastMs: number): void => {
      for (const account of accounts.values())
        if (timeOf(account) < judging.beforeMs && judgeAccount(account, judging, lastMs)) settle(account);
      for (const [id, answers] of early) if (areBefore(answers, judging)) judgeEarly(id, answers);
    },
  };
}

const areBefore = (answers: readonly Placed<Answer>[], { beforeMs }: Judging): boolean =>
  answers.every(({ place }) => place.timestampMs < beforeMs);

const timeOf = ({ ending, command }: Account): number => (ending ?? command).place.timestampMs;

type Disagreement = { readonly kind: 'result-differs' | 'not-commanded'; readonly message: string };

/** What of an answer cannot be, by the command alone. */
function disagreement(command: Command, answer: Answer): Disagreement | null {
  const differs = (message: string): Disagreement => ({ kind: 'result-differs', message });
  if (nodeKey(answer) !== nodeKey(command))
    return differs(`it is of ${nodeKey(answer)}, and the command of ${nodeKey(command)}`);
  if (answer.decisionId !== command.decisionId || answer.inventoryId !== command.inventoryId)
    return differs('it names another decision or inventory than the command');
  const by = { nodeInstance: answer.nodeInstance, commandId: command.id };
  if (answer.type === 'fleetgc.node.object-result') return objectDisagreement(command, answer);
  const id =
    answer.type === 'fleetgc.node.pass-failed' ? passFailedId(by, answer.problem) : commandResultId(by);
  return answer.id === id ? null : differs('its id does not follow from its command');
}

function objectDisagreement(command: Command, answer: ObjectResult): Disagreement | null {
  const { object, rule, nodeInstance, result } = answer;
  const index = command.items.findIndex(({ kind, id }) => kind === object.kind && id === object.id);
  const item = command.items[index];
  if (item === undefined)
    return {
      kind: 'not-commanded',
      message: `${objectName(object)}: ${result.outcome}, and the command does not name it`,
    };
  const by = { nodeInstance, commandId: command.id };
  const problem =
    (nodeInstance !== command.nodeInstance && 'it is of another installation of the node than the command') ||
    (answer.id !== objectResultId(by, index, object) &&
      'its id does not follow from its command and object') ||
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

/** Where the results of a command's objects are not those that its own result counts. */
function miscount({ objects }: Account, { result }: CommandResult): string | null {
  if (result.outcome === 'refused')
    return objects.size === 0
      ? null
      : `the command was refused, and ${objects.size} of its objects have results`;
  const outcomes = [...objects.values()].map(({ event }) => event.result.outcome);
  for (const [outcome, field] of Object.entries(COUNTED)) {
    const there = outcomes.filter((one) => one === outcome).length;
    if (there !== result[field])
      return `the result of the command counts ${result[field]} ${outcome}, and the log has ${there} such results of its objects`;
  }
  return null;
}
