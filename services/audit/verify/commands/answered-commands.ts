import type { LogRecord } from '../../../../packages/event-log/port.ts';
import type { Command } from '../../../../schemas/events/command.ts';
import { nodeKey } from '../../../../schemas/events/identity.ts';
import { placeOf } from '../../events/log-position.ts';
import { type Coverages, type Judging, LATE_RESULT_MS, SETTLED_MS } from '../coverage.ts';
import type { Findings } from '../findings.ts';
import {
  type Account,
  type Answer,
  judgeEnding,
  openAccount,
  type Placed,
  takeAnswer,
  tellDisagreement,
} from './command-account.ts';
import { createEarlierCommands, createLateAnswers } from './commands-before-range.ts';

/** Brings together commands and their results, in whatever order they come, and judges what stays alone. */
export function createCommands(findings: Findings, { coverage, kept, beganAfter }: Coverages) {
  const late = createLateAnswers(findings, { kept, beganAfter });
  const accounts = new Map<string, Account>();
  const earlier = createEarlierCommands(findings);
  /** Commands that have no account: with all their results, or unreadable. */
  const others = new Map<string, 'settled' | 'unreadable'>();
  const early = new Map<string, Placed<Answer>[]>();
  /** By node instance, the offset of the last command that was carried out, in part at least, and when. */
  const lastCarriedOut = new Map<string, { readonly offset: bigint; readonly atMs: number }>();

  /** By node, when it last published what it saw. */
  const lastHeardMs = new Map<string, number>();

  const add = (account: Account, answer: Placed<Answer>): void => {
    const problem = takeAnswer(account, answer);
    if (problem !== null) tellDisagreement(findings, problem, answer, account);
    else if (isCarriedOut(answer.event)) carriedOut(account, answer);
  };

  const carriedOut = ({ command }: Account, { event, place }: Placed<Answer>): void => {
    const offset = BigInt(command.place.offset);
    const last = lastCarriedOut.get(event.nodeInstance);
    if (last === undefined || last.offset < offset)
      lastCarriedOut.set(event.nodeInstance, { offset, atMs: place.timestampMs });
  };

  const addWithoutAccount = (answer: Placed<Answer>): void => {
    const { commandId } = answer.event;
    const other = others.get(commandId);
    if (other === undefined) early.set(commandId, [...(early.get(commandId) ?? []), answer]);
    if (other === 'settled')
      tellDisagreement(
        findings,
        { kind: 'result-differs', message: 'it came when all results of its command were there' },
        answer,
      );
  };

  /** Its node was away, unless it told of some objects and went on with later commands. */
  const isAnswerLost = ({ command, objects }: Account, { beforeMs }: Judging): boolean => {
    const last = lastCarriedOut.get(command.event.nodeInstance);
    if (last === undefined || objects.size === 0) return false;
    return last.offset > BigInt(command.place.offset) && last.atMs < beforeMs;
  };

  /** Its result comes right after those of its objects, and a node that died in between is not heard before it comes. */
  const isOverdue = ({ command, objects }: Account): boolean => {
    const answeredMs = [...objects.values()].map(({ place }) => place.timestampMs);
    const heardMs = lastHeardMs.get(nodeKey(command.event)) ?? Number.NEGATIVE_INFINITY;
    return objects.size > 0 && answeredMs.every((atMs) => atMs + SETTLED_MS < heardMs);
  };

  const tellOverdue = ({ command, objects }: Account): void =>
    findings.gap({
      kind: 'answer-missing',
      message: `${objects.size} of its objects have results, the command itself has none, and its node was heard more than ten minutes after them`,
      node: nodeKey(command.event),
      places: [command.place, ...[...objects.values()].map(({ place }) => place)],
    });

  const judgeUnanswered = (account: Account, atEndMs: number | null): boolean => {
    const { event, place } = account.command;
    if (atEndMs === null) return false;
    if (isOverdue(account)) {
      tellOverdue(account);
      return true;
    }
    if (place.timestampMs + event.lifetimeMs >= atEndMs) findings.counts.open++;
    else {
      findings.counts.expired++;
      if (account.objects.size === 0) tellUnanswered(account);
    }
    return true;
  };

  const tellUnanswered = ({ command: { event, place } }: Account): void => {
    const heardMs = lastHeardMs.get(nodeKey(event)) ?? null;
    const livesOn = heardMs !== null && place.timestampMs + event.lifetimeMs + SETTLED_MS < heardMs;
    const kind = livesOn ? 'node-lives-on' : 'node-silent';
    findings.unanswered({ kind, id: event.id, node: nodeKey(event), place, heardMs });
  };

  const tellLostAnswer = ({ command, objects }: Account): void =>
    findings.deviation({
      kind: 'result-missing',
      message: `${objects.size} of its objects have results, the command itself has none, and the executor carried out later commands`,
      node: nodeKey(command.event),
      places: [command.place, ...[...objects.values()].map(({ place }) => place)],
    });

  /** Of a topic that was made anew the results of its objects may be gone. */
  const knownOf = ({ command }: Account): 'all' | 'some' =>
    beganAfter('results', command.place.timestampMs) ? 'some' : 'all';

  /** Whether nothing more is expected of it. `lastMs`: the time that the log has come to. */
  const judgeAccount = (account: Account, judging: Judging, lastMs: number): boolean => {
    if (account.ending !== null) judgeEnding(findings, account, knownOf(account));
    else if (isAnswerLost(account, judging)) tellLostAnswer(account);
    else return judgeUnanswered(account, judging.atEnd ? lastMs : null);
    return true;
  };

  const judgeEarly = (id: string, answers: readonly Placed<Answer>[]): void => {
    early.delete(id);
    for (const answer of answers)
      if (answer.place.timestampMs - LATE_RESULT_MS < coverage('commands')) findings.counts.outOfRange++;
      else late.add(answer);
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
      // A repetition: some of its results lie before the range.
      if (earlier.has(event.id)) return;
      const account = openAccount(event, placeOf(record));
      accounts.set(event.id, account);
      for (const answer of early.get(event.id) ?? []) add(account, answer);
      early.delete(event.id);
    },
    /** One that is read ahead of the range. */
    commandedBefore: (event: Command, record: LogRecord): void => earlier.commanded(event, placeOf(record)),
    /** Answers to commands from before even those; these are read once nothing else comes. */
    late,
    /** Something on the topic of commands that is none: executors answer it by this id. */
    unreadable: (id: string): void => void others.set(id, 'unreadable'),
    answered: (event: Answer, record: LogRecord): void => {
      const answer = { event, place: placeOf(record) };
      const account = accounts.get(event.commandId);
      if (account !== undefined) add(account, answer);
      else if (!earlier.has(event.commandId)) addWithoutAccount(answer);
      else if (!earlier.answered(answer)) late.add(answer);
    },
    /** A node published what it saw. */
    heard: ({ key, timestampMs }: LogRecord): void => {
      if (key !== null) lastHeardMs.set(key, timestampMs);
    },
    judge: (judging: Judging, lastMs: number): void => {
      earlier.judge(judging);
      judgeAccounts(judging, lastMs);
      for (const [id, answers] of early) if (areBefore(answers, judging)) judgeEarly(id, answers);
    },
  };
}

const areBefore = (answers: readonly Placed<Answer>[], { beforeMs }: Judging): boolean =>
  answers.every(({ place }) => place.timestampMs < beforeMs);

const isBefore = ({ ending, command }: Account, { beforeMs }: Judging): boolean =>
  (ending ?? command).place.timestampMs < beforeMs;

/** Commands are carried out one after the other; refused is one also while another is in hand. */
const isCarriedOut = (answer: Answer): boolean =>
  answer.type !== 'fleetgc.node.command-result' || answer.result.outcome === 'done';
