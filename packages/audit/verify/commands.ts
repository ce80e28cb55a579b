import type { Command } from '../../../schemas/events/command.ts';
import { nodeKey } from '../../../schemas/events/identity.ts';
import type {
  CommandResult,
  ObjectResult,
  PassFailed,
  RemovalIntent,
} from '../../../schemas/events/result.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { canonicalJson, sha256Hex } from '../../canonical/ids.ts';
import {
  commandResultId,
  objectResultId,
  passFailedId,
  rejectedResultId,
  removalIntentId,
} from '../../decision/result-ids.ts';
import type { LogRecord } from '../../log/port.ts';
import { addUnder } from '../../process/collections.ts';
import type { Rejection } from '../../records/parse/parse-record.ts';
import { objectKey, type Place, placeOf } from '../events/log-position.ts';
import {
  type Coverage,
  type Coverages,
  type Judging,
  LATE_RESULT_MS,
  SETTLED_MS,
  tellMissing,
} from './coverage.ts';
import type { Findings } from './findings.ts';

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

/** What an executor says of a command or its objects. */
type Answer = ObjectResult | RemovalIntent | CommandResult | PassFailed;

interface Placed<Event> {
  readonly event: Event;
  readonly place: Place;
}

/** What of a command its results are checked against. */
type Commanded = Pick<
  Command,
  'id' | 'cluster' | 'node' | 'nodeInstance' | 'decisionId' | 'inventoryId' | 'lifetimeMs'
> & { readonly items: readonly Pick<Command['items'][number], 'kind' | 'id' | 'rule'>[] };

/** A command and what became of it so far. */
interface Account {
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
const isOfBystander = (answer: Answer, command: Pick<Commanded, 'nodeInstance'>): boolean =>
  answer.type === 'fleetgc.node.command-result' &&
  answer.nodeInstance !== command.nodeInstance &&
  answer.result.outcome === 'refused' &&
  answer.result.reason === 'other-instance';

const tellDisagreement = (
  { deviation }: Findings,
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

interface Disagreement {
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
function judgeEnding({ deviation }: Findings, account: Account, known: 'all' | 'some'): void {
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

/**
 * Commands from before the range. Results in the range are checked against them; some of their results lie before it
 * too, so whether all are there cannot be told, and the commands are neither verified nor counted.
 */
class EarlierCommands {
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
  readonly #coverages: Coverages;
  readonly #waiting = new Map<string, Placed<Answer>[]>();
  #count = 0;

  constructor(findings: Findings, coverages: Coverages) {
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
        this.#findings,
        this.#coverages,
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
