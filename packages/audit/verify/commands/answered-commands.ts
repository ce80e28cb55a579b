import type { Command } from '../../../../schemas/events/command.ts';
import { nodeKey } from '../../../../schemas/events/identity.ts';
import type { LogRecord } from '../../../log/port.ts';
import { addUnder } from '../../../process/add-under.ts';
import { type Place, placeOf } from '../../events/log-position.ts';
import { type Coverages, type Judging, LATE_RESULT_MS, SETTLED_MS } from '../coverage.ts';
import type { Findings } from '../findings.ts';
import {
  type Account,
  type Answer,
  isDistrust,
  isOfBystander,
  judgeEnding,
  namelessId,
  openAccount,
  type Placed,
  takeAnswer,
  tellDisagreement,
} from './command-account.ts';
import { EarlierCommands, LateAnswers } from './commands-before-range.ts';

type Other = { readonly kind: 'settled'; readonly nodeInstance: string } | { readonly kind: 'unreadable' };

/** Brings together commands and their results, in whatever order they come, and judges what stays alone. */
export class AnsweredCommands {
  /** Answers to commands from before even those that are read ahead of the range; told once nothing else comes. */
  readonly late: LateAnswers;
  readonly #findings: Findings;
  readonly #coverages: Coverages;
  readonly #accounts = new Map<string, Account>();
  readonly #earlier: EarlierCommands;
  /** Commands that have no account: with all their results, or unreadable. */
  readonly #others = new Map<string, Other>();
  readonly #early = new Map<string, Placed<Answer>[]>();
  /** Ids of commands by how executors name them that did not read them. */
  readonly #nameless = new Map<string, string>();
  /** By node instance, the offset of the last command that was carried out, in part at least, and when. */
  readonly #lastCarriedOut = new Map<string, { readonly offset: bigint; readonly atMs: number }>();
  /** By node, when it last published what it saw. */
  readonly #lastHeardMs = new Map<string, number>();

  constructor(findings: Findings, coverages: Coverages) {
    this.#findings = findings;
    this.#coverages = coverages;
    this.late = new LateAnswers(findings, coverages);
    this.#earlier = new EarlierCommands(findings);
  }

  commanded(event: Command, record: LogRecord): void {
    // A repetition: some of its results lie before the range.
    if (this.#earlier.has(event.id)) return;
    const account = openAccount(event, placeOf(record));
    this.#accounts.set(event.id, account);
    for (const answer of this.#early.get(event.id) ?? []) this.#add(account, answer);
    this.#early.delete(event.id);
    const nameless = namelessId(record);
    this.#nameless.set(nameless, event.id);
    const unread = this.#early.get(nameless) ?? [];
    this.#early.delete(nameless);
    for (const { event: answer, place } of unread) this.#take(answer, place);
  }

  /** One that is read ahead of the range. */
  commandedBefore(event: Command, record: LogRecord): void {
    this.#nameless.set(namelessId(record), event.id);
    this.#earlier.commanded(event, placeOf(record));
  }

  /** Something on the topic of commands that is none: executors answer it by this id. */
  unreadable(id: string): void {
    this.#others.set(id, { kind: 'unreadable' });
  }

  answered(event: Answer, record: LogRecord): void {
    this.#take(event, placeOf(record));
  }

  #take(event: Answer, place: Place): void {
    const unread = isDistrust(event) ? this.#nameless.get(event.commandId) : undefined;
    const answer = { event, place };
    const account = this.#accounts.get(event.commandId);
    if (unread !== undefined) this.#turnedAway(unread);
    else if (account !== undefined) this.#add(account, answer);
    else if (!this.#earlier.has(event.commandId)) this.#addWithoutAccount(answer);
    else if (!this.#earlier.answered(answer)) this.late.add(answer);
  }

  #turnedAway(id: string): void {
    const account = this.#accounts.get(id);
    if (account !== undefined) account.isTurnedAway = true;
    else if (this.#earlier.has(id)) this.#findings.counts.ofEarlier++;
  }

  /** A node published what it saw. */
  heard({ key, timestampMs }: LogRecord): void {
    if (key !== null) this.#lastHeardMs.set(key, timestampMs);
  }

  /** `lastMs`: the time that the log has come to. */
  judge(judging: Judging, lastMs: number): void {
    this.#earlier.judge(judging);
    for (const [id, account] of this.#accounts) {
      if (!isBefore(account, judging) || !this.#judgeAccount(account, judging, lastMs)) continue;
      this.#accounts.delete(id);
      this.#others.set(id, { kind: 'settled', nodeInstance: account.command.event.nodeInstance });
    }
    for (const [id, answers] of this.#early) if (areBefore(answers, judging)) this.#judgeEarly(id, answers);
  }

  #add(account: Account, answer: Placed<Answer>): void {
    const problem = takeAnswer(account, answer);
    if (problem !== null) tellDisagreement(this.#findings, problem, answer, account);
    else if (isCarriedOut(answer.event)) this.#carriedOut(account, answer);
  }

  #carriedOut({ command }: Account, { event, place }: Placed<Answer>): void {
    const offset = BigInt(command.place.offset);
    const last = this.#lastCarriedOut.get(event.nodeInstance);
    if (last === undefined || last.offset < offset)
      this.#lastCarriedOut.set(event.nodeInstance, { offset, atMs: place.timestampMs });
  }

  #addWithoutAccount(answer: Placed<Answer>): void {
    const { commandId } = answer.event;
    const other = this.#others.get(commandId);
    if (other === undefined) addUnder(this.#early, commandId, answer);
    if (other?.kind === 'settled' && !isOfBystander(answer.event, other))
      tellDisagreement(
        this.#findings,
        { kind: 'result-differs', message: 'it came when all results of its command were there' },
        answer,
      );
  }

  #judgeEarly(id: string, answers: readonly Placed<Answer>[]): void {
    this.#early.delete(id);
    for (const answer of answers)
      if (answer.place.timestampMs - LATE_RESULT_MS < this.#coverages.coverage('commands'))
        this.#findings.counts.outOfRange++;
      else this.late.add(answer);
  }

  /** Whether nothing more is expected of it. */
  #judgeAccount(account: Account, judging: Judging, lastMs: number): boolean {
    if (account.ending !== null) judgeEnding(this.#findings, account, this.#knownOf(account));
    else if (this.#isAnswerLost(account, judging)) tellLostAnswer(this.#findings, account);
    else if (judging.atEnd) this.#judgeUnanswered(account, lastMs);
    else return false;
    this.#judgeAnnounced(account, lastMs);
    return true;
  }

  /** What an executor announced whose journal was in memory, and that no result tells of. */
  #judgeAnnounced({ announced, objects, command: { event, place } }: Account, lastMs: number): void {
    const open = [...announced].filter(([key]) => !objects.has(key));
    const [first] = open;
    if (first === undefined || place.timestampMs + event.lifetimeMs + SETTLED_MS >= lastMs) return;
    this.#findings.gap({
      kind: 'intent-open',
      message: `${open.length} of its objects were announced while the journal of the executor could not be written, and no result says what came of them`,
      node: nodeKey(event),
      places: [first[1], place],
    });
  }

  /** Of a topic that was made anew the results of its objects may be gone. */
  #knownOf({ command }: Account): 'all' | 'some' {
    return this.#coverages.beganAfter('results', command.place.timestampMs) ? 'some' : 'all';
  }

  /** Its node was away, unless it told of some objects and went on with later commands. */
  #isAnswerLost({ command, objects }: Account, { beforeMs }: Judging): boolean {
    const last = this.#lastCarriedOut.get(command.event.nodeInstance);
    if (last === undefined || objects.size === 0) return false;
    return last.offset > BigInt(command.place.offset) && last.atMs < beforeMs;
  }

  #judgeUnanswered(account: Account, lastMs: number): void {
    const { event, place } = account.command;
    if (account.isTurnedAway && account.objects.size === 0) return;
    const heardMs = this.#lastHeardMs.get(nodeKey(event)) ?? null;
    if (isOverdue(account, heardMs)) tellOverdue(this.#findings, account);
    else if (place.timestampMs + event.lifetimeMs >= lastMs) this.#findings.counts.open++;
    else {
      this.#findings.counts.expired++;
      if (account.objects.size === 0) tellUnanswered(this.#findings, account, heardMs);
    }
  }
}

/** Its result comes right after those of its objects, and a node that died in between is not heard before it comes. */
function isOverdue({ objects }: Account, heardMs: number | null): boolean {
  if (heardMs === null || objects.size === 0) return false;
  return [...objects.values()].every(({ place }) => place.timestampMs + SETTLED_MS < heardMs);
}

const placesOf = ({ command, objects }: Account): readonly Place[] => [
  command.place,
  ...[...objects.values()].map(({ place }) => place),
];

const tellOverdue = ({ gap }: Findings, account: Account): void =>
  gap({
    kind: 'answer-missing',
    message: `${account.objects.size} of its objects have results, the command itself has none, and its node was heard more than ten minutes after them`,
    node: nodeKey(account.command.event),
    places: placesOf(account),
  });

const tellLostAnswer = ({ deviation }: Findings, account: Account): void =>
  deviation({
    kind: 'result-missing',
    message: `${account.objects.size} of its objects have results, the command itself has none, and the executor carried out later commands`,
    node: nodeKey(account.command.event),
    places: placesOf(account),
  });

function tellUnanswered(
  { unanswered }: Findings,
  { command: { event, place } }: Account,
  heardMs: number | null,
): void {
  const livesOn = heardMs !== null && place.timestampMs + event.lifetimeMs + SETTLED_MS < heardMs;
  const kind = livesOn ? 'node-lives-on' : 'node-silent';
  unanswered({ kind, id: event.id, node: nodeKey(event), place, heardMs });
}

const areBefore = (answers: readonly Placed<Answer>[], { beforeMs }: Judging): boolean =>
  answers.every(({ place }) => place.timestampMs < beforeMs);

const isBefore = ({ ending, command }: Account, { beforeMs }: Judging): boolean =>
  (ending ?? command).place.timestampMs < beforeMs;

/** Commands are carried out one after the other; refused is one also while another is in hand. */
const isCarriedOut = (answer: Answer): boolean =>
  answer.type !== 'fleetgc.node.command-result' || answer.result.outcome === 'done';
