import type { Command } from '../../../schemas/command.ts';
import { nodeKey } from '../../../schemas/identity.ts';
import type { CommandResult } from '../../../schemas/result.ts';
import type { LogRecord } from '../../shared/event-log/port.ts';
import {
  type Account,
  type Answer,
  type Disagreement,
  disagreement,
  miscount,
  type Placed,
} from './account.ts';
import { type Coverage, type Judging, LATE_RESULT_MS } from './coverage.ts';
import { type Findings, placeOf } from './findings.ts';
import { objectName } from './removable.ts';

/** Brings together commands and their results, in whatever order they come, and judges what stays alone. */
export function createCommands(findings: Findings, coverage: Coverage) {
  const accounts = new Map<string, Account>();
  /** Commands that have no account: from before the range, with all their results, or unreadable. */
  const others = new Map<string, 'before' | 'settled' | 'unreadable'>();
  const early = new Map<string, Placed<Answer>[]>();
  /** By node instance, the offset of the last command that was answered, and when. */
  const lastAnswered = new Map<string, { readonly offset: bigint; readonly atMs: number }>();

  const deviate = ({ kind, message }: Disagreement, answer: Placed<Answer>, account?: Account): void =>
    findings.deviation({
      kind,
      message,
      node: nodeKey(answer.event),
      places: [answer.place, ...(account ? [account.command.place] : [])],
    });

  const add = (account: Account, answer: Placed<Answer>): void => {
    const { event, place } = answer;
    const problem = disagreement(account.command.event, event);
    if (problem !== null) deviate(problem, answer, account);
    else if (event.type === 'fleetgc.node.object-result')
      account.objects.set(objectName(event.object), { event, place });
    else if (event.type === 'fleetgc.node.command-result') end(account, { event, place });
  };

  const end = (account: Account, ending: Placed<CommandResult>): void => {
    account.ending = ending;
    const { nodeInstance } = ending.event;
    const offset = BigInt(account.command.place.offset);
    const last = lastAnswered.get(nodeInstance);
    if (last === undefined || last.offset < offset)
      lastAnswered.set(nodeInstance, { offset, atMs: ending.place.timestampMs });
  };

  const addWithoutAccount = (answer: Placed<Answer>): void => {
    const { commandId } = answer.event;
    const other = others.get(commandId);
    if (other === undefined) early.set(commandId, [...(early.get(commandId) ?? []), answer]);
    if (other === 'before') findings.counts.outOfRange++;
    if (other === 'settled')
      deviate(
        { kind: 'result-differs', message: 'it came when all results of its command were there' },
        answer,
      );
  };

  const judgeEnded = (account: Account, ending: Placed<CommandResult>): void => {
    const problem = miscount(account, ending.event);
    if (problem === null) return;
    const places = [ending.place, account.command.place];
    findings.deviation({ kind: 'result-missing', message: problem, node: nodeKey(ending.event), places });
  };

  /** Its node was away, unless it told of some objects and went on with later commands. */
  const isAnswerLost = ({ command, objects }: Account, { beforeMs }: Judging): boolean => {
    const last = lastAnswered.get(command.event.nodeInstance);
    if (last === undefined || objects.size === 0) return false;
    return last.offset > BigInt(command.place.offset) && last.atMs < beforeMs;
  };

  const judgeUnanswered = (account: Account, atEndMs: number | null): boolean => {
    const { event, place } = account.command;
    if (atEndMs === null) return false;
    if (place.timestampMs + event.lifetimeMs < atEndMs) findings.counts.expired++;
    else findings.counts.open++;
    return true;
  };

  const tellLostAnswer = ({ command, objects }: Account): void =>
    findings.deviation({
      kind: 'result-missing',
      message: `${objects.size} of its objects have results, the command itself has none, and the executor answered later commands`,
      node: nodeKey(command.event),
      places: [command.place, ...[...objects.values()].map(({ place }) => place)],
    });

  /** Whether nothing more is expected of it. `lastMs`: the time that the log has come to. */
  const judgeAccount = (account: Account, judging: Judging, lastMs: number): boolean => {
    if (account.ending !== null) judgeEnded(account, account.ending);
    else if (isAnswerLost(account, judging)) tellLostAnswer(account);
    else return judgeUnanswered(account, judging.atEnd ? lastMs : null);
    return true;
  };

  const judgeEarly = (id: string, answers: readonly Placed<Answer>[]): void => {
    early.delete(id);
    for (const answer of answers)
      if (answer.place.timestampMs - LATE_RESULT_MS < coverage('commands')) findings.counts.outOfRange++;
      else deviate({ kind: 'not-commanded', message: `there is no command ${id}` }, answer);
  };

  const judgeAccounts = (judging: Judging, lastMs: number): void => {
    for (const [id, account] of accounts) {
      if (!isBefore(account, judging) || !judgeAccount(account, judging, lastMs)) continue;
      accounts.delete(id);
      others.set(id, 'settled');
    }
  };

  return {
    commanded: (event: Command, record: LogRecord): void => {
      const account = { command: { event, place: placeOf(record) }, objects: new Map(), ending: null };
      accounts.set(event.id, account);
      for (const answer of early.get(event.id) ?? []) add(account, answer);
      early.delete(event.id);
    },
    /** One that is read ahead of the range. */
    commandedBefore: ({ id }: Command): void => void others.set(id, 'before'),
    /** Something on the topic of commands that is none: executors answer it by this id. */
    unreadable: (id: string): void => void others.set(id, 'unreadable'),
    answered: (event: Answer, record: LogRecord): void => {
      const answer = { event, place: placeOf(record) };
      const account = accounts.get(event.commandId);
      if (account === undefined) addWithoutAccount(answer);
      else add(account, answer);
    },
    judge: (judging: Judging, lastMs: number): void => {
      judgeAccounts(judging, lastMs);
      for (const [id, answers] of early) if (areBefore(answers, judging)) judgeEarly(id, answers);
    },
  };
}

const areBefore = (answers: readonly Placed<Answer>[], { beforeMs }: Judging): boolean =>
  answers.every(({ place }) => place.timestampMs < beforeMs);

const isBefore = ({ ending, command }: Account, { beforeMs }: Judging): boolean =>
  (ending ?? command).place.timestampMs < beforeMs;
