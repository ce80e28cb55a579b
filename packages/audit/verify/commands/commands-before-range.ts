import type { Command } from '../../../../schemas/events/command.ts';
import { nodeKey } from '../../../../schemas/events/identity.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import type { LogRecord } from '../../../log/port.ts';
import { addUnder } from '../../../process/add-under.ts';
import { type Place, placeOf } from '../../events/log-position.ts';
import { type Coverage, type Coverages, type Judging, LATE_RESULT_MS, tellMissing } from '../coverage.ts';
import type { Findings } from '../findings.ts';
import {
  type Account,
  type Answer,
  isDistrust,
  judgeEnding,
  namelessId,
  openAccount,
  type Placed,
  takeAnswer,
  tellDisagreement,
} from './command-account.ts';

/**
 * Commands from before the range. Results in the range are checked against them; some of their results lie before it
 * too, so whether all are there cannot be told, and the commands are neither verified nor counted.
 */
export class EarlierCommands {
  readonly #findings: Findings;
  readonly #accounts = new Map<string, Account>();
  /** Those whose results are not expected any more: whatever comes late is compared at the end. */
  readonly #forgotten = new Set<string>();

  constructor(findings: Findings) {
    this.#findings = findings;
  }

  commanded(command: Command, place: Place): void {
    if (!this.#accounts.has(command.id)) this.#accounts.set(command.id, openAccount(command, place));
  }

  has(id: string): boolean {
    return this.#accounts.has(id) || this.#forgotten.has(id);
  }

  /** Whether it was an answer to one of these that is not forgotten. */
  answered(answer: Placed<Answer>): boolean {
    const account = this.#accounts.get(answer.event.commandId);
    if (account !== undefined) checkAnswer(this.#findings, account, answer);
    return account !== undefined;
  }

  judge(judging: Judging): void {
    for (const [id, account] of this.#accounts) {
      if (!isOver(account, judging)) continue;
      judgeEnding(this.#findings, account, 'some');
      this.#accounts.delete(id);
      this.#forgotten.add(id);
    }
  }
}

/** An answer to a command from before the range. */
function checkAnswer(findings: Findings, account: Account, answer: Placed<Answer>): void {
  const problem = takeAnswer(account, answer);
  if (problem === null) findings.counts.ofEarlier++;
  else tellDisagreement(findings, problem, answer, account);
}

const isOver = ({ command: { event, place } }: Account, { beforeMs }: Judging): boolean =>
  place.timestampMs + event.lifetimeMs + LATE_RESULT_MS < beforeMs;

/** So many are kept; of what is forged beyond that is told at once. */
const MOST = 10_000;

/**
 * Answers to commands that were not read, or long ago: a node that was away for days refuses what waited for it. At the end all
 * commands from before the range are looked at, if there are such answers. `kept`: since when the log has all commands.
 */
export class LateAnswers {
  readonly #findings: Findings;
  readonly #coverages: Pick<Coverages, 'kept' | 'beganAfter'>;
  readonly #waiting = new Map<string, Placed<Answer>[]>();
  #count = 0;

  constructor(findings: Findings, coverages: Pick<Coverages, 'kept' | 'beganAfter'>) {
    this.#findings = findings;
    this.#coverages = coverages;
  }

  /** An answer whose command nobody knows. */
  add(answer: Placed<Answer>): void {
    const { commandId } = answer.event;
    this.#count++;
    if (this.#count > MOST) this.#tell(answer);
    else addUnder(this.#waiting, commandId, answer);
  }

  areThere(): boolean {
    return this.#waiting.size > 0;
  }

  /** A command from before the range. */
  commanded(command: Command, record: LogRecord): void {
    const answers = this.#waiting.get(command.id) ?? [];
    this.#waiting.delete(command.id);
    const account = openAccount(command, placeOf(record));
    for (const answer of answers) checkAnswer(this.#findings, account, answer);
    const unread = this.#waiting.get(namelessId(record)) ?? [];
    if (unread.every(({ event }) => isDistrust(event))) this.unreadable(namelessId(record));
  }

  /** One of them that is none. */
  unreadable(id: string): void {
    this.#findings.counts.ofEarlier += this.#waiting.get(id)?.length ?? 0;
    this.#waiting.delete(id);
  }

  end(): void {
    for (const answers of this.#waiting.values()) for (const answer of answers) this.#tell(answer);
    this.#waiting.clear();
  }

  #tell(answer: Placed<Answer>): void {
    const { event, place } = answer;
    if (mayBeDeleted(answer, this.#coverages.kept)) this.#findings.counts.outOfRange++;
    else
      tellMissing(
        { findings: this.#findings, beganAfter: this.#coverages.beganAfter },
        { topicId: 'commands', timestampMs: place.timestampMs },
        {
          kind: 'not-commanded',
          message: `there is no command ${event.commandId}`,
          node: nodeKey(event),
          places: [place],
        },
      );
  }
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
