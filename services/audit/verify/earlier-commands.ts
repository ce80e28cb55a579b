import type { Command } from '../../../schemas/events/command.ts';
import {
  type Account,
  type Answer,
  judgeEnding,
  openAccount,
  type Placed,
  takeAnswer,
  tellDisagreement,
} from './account.ts';
import { type Judging, LATE_RESULT_MS } from './coverage.ts';
import type { Findings, Place } from './findings.ts';

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
