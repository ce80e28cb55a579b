import type { LogRecord } from '../../../../packages/event-log/port.ts';
import type { Command } from '../../../../schemas/events/command.ts';
import { nodeKey } from '../../../../schemas/events/identity.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import { type Place, placeOf } from '../../events/log-position.ts';
import { type Coverage, type Coverages, type Judging, LATE_RESULT_MS, tellMissing } from '../coverage.ts';
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

/**
 * Commands from before the range. Results in the range are checked against them; some of their results lie before it
 * too, so whether all are there cannot be told, and the commands are neither verified nor counted.
 */
export function createEarlierCommands(findings: Findings) {
  const accounts = new Map<string, Account>();
  /** Those whose results are not expected any more: whatever comes late is compared at the end. */
  const forgotten = new Set<string>();

  const add = (account: Account, answer: Placed<Answer>): void => {
    const problem = takeAnswer(account, answer);
    if (problem === null) findings.counts.ofEarlier++;
    else tellDisagreement(findings, problem, answer, account);
  };

  return {
    commanded: (command: Command, place: Place): void => {
      if (!accounts.has(command.id)) accounts.set(command.id, openAccount(command, place));
    },
    has: (id: string): boolean => accounts.has(id) || forgotten.has(id),
    /** Whether it was an answer to one of these that is not forgotten. */
    answered: (answer: Placed<Answer>): boolean => {
      const account = accounts.get(answer.event.commandId);
      if (account !== undefined) add(account, answer);
      return account !== undefined;
    },
    judge: (judging: Judging): void => {
      for (const [id, account] of accounts) {
        if (!isOver(account, judging)) continue;
        judgeEnding(findings, account, 'some');
        accounts.delete(id);
        forgotten.add(id);
      }
    },
  };
}

const isOver = ({ command: { event, place } }: Account, { beforeMs }: Judging): boolean =>
  place.timestampMs + event.lifetimeMs + LATE_RESULT_MS < beforeMs;

/** So many are remembered; whoever forges more is told of the rest at once. */
const MOST = 10_000;

/**
 * Answers to commands that were not read, or long ago: a node that was away for days refuses what waited for it. At the end all
 * commands from before the range are looked at, if there are such answers. `kept`: since when the log has all commands.
 */
export function createLateAnswers(
  findings: Findings,
  { kept, beganAfter }: Pick<Coverages, 'kept' | 'beganAfter'>,
) {
  const waiting = new Map<string, Placed<Answer>[]>();
  let count = 0;

  const tell = (answer: Placed<Answer>): void => {
    if (mayBeDeleted(answer, kept)) findings.counts.outOfRange++;
    else {
      const message = `there is no command ${answer.event.commandId}`;
      const { event, place } = answer;
      tellMissing(
        { findings, beganAfter },
        { topicId: 'commands', timestampMs: place.timestampMs },
        { kind: 'not-commanded', message, node: nodeKey(event), places: [place] },
      );
    }
  };

  return {
    /** An answer whose command nobody knows. */
    add: (answer: Placed<Answer>): void => {
      const { commandId } = answer.event;
      count++;
      if (count > MOST) tell(answer);
      else waiting.set(commandId, [...(waiting.get(commandId) ?? []), answer]);
    },
    areThere: (): boolean => waiting.size > 0,
    /** A command from before the range. */
    commanded: (command: Command, record: LogRecord): void => {
      const answers = waiting.get(command.id) ?? [];
      waiting.delete(command.id);
      const account = openAccount(command, placeOf(record));
      for (const answer of answers) {
        const problem = takeAnswer(account, answer);
        if (problem === null) findings.counts.ofEarlier++;
        else tellDisagreement(findings, problem, answer, account);
      }
    },
    /** One of them that is none. */
    unreadable: (id: string): void => {
      findings.counts.ofEarlier += waiting.get(id)?.length ?? 0;
      waiting.delete(id);
    },
    end: (): void => {
      for (const answers of waiting.values()) answers.forEach(tell);
      waiting.clear();
    },
  };
}

/** Only a refusal for its age comes as late as that, and it removes nothing. */
function mayBeDeleted({ event, place }: Placed<Answer>, kept: Coverage): boolean {
  const { retentionMs } = TOPICS.commands;
  const isExpiry =
    event.type === 'fleetgc.node.command-result' &&
    event.result.outcome === 'refused' &&
    event.result.reason === 'expired';
  return isExpiry && typeof retentionMs === 'number' && place.timestampMs - retentionMs < kept('commands');
}
