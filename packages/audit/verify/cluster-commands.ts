import type { ClusterCommand } from '../../../schemas/events/cluster-command.ts';
import type { ClusterCommandIntent, IntendedObject } from '../../../schemas/events/cluster-intent.ts';
import type { ClusterCommandResult, ClusterObjectResults } from '../../../schemas/events/cluster-result.ts';
import { SUBJECTS } from '../../../schemas/events/identity.ts';
import { canonicalJson } from '../../canonical/ids.ts';
import {
  clusterCommandResultId,
  clusterIntentId,
  clusterObjectResultsId,
  clusterRejectedResultId,
} from '../../decision/result-ids.ts';
import type { LogRecord } from '../../log/port.ts';
import { addUnder } from '../../process/collections.ts';
import { type Place, placeOf } from '../events/log-position.ts';
import { namelessId } from './commands.ts';
import { type Coverages, type Judging, LATE_RESULT_MS, SETTLED_MS } from './coverage.ts';
import type { Findings } from './findings.ts';

/** A command and what became of it so far. */
interface Account {
  readonly command: Placed<Commanded>;
  /** It lies before the range: what became of it may lie there too. */
  readonly isEarlier: boolean;
  /** Uids of objects that have a result. */
  readonly told: Set<string>;
  /** Uids of objects that executors announced, by executor. */
  readonly announced: Map<string, Set<string>>;
  /** Where something was first announced. */
  announcedAt: Place | null;
  /** What was done of which no intent lay before it. */
  readonly unannounced: Unannounced[];
  ending: Placed<ClusterCommandResult> | null;
}

interface Unannounced {
  readonly executor: string | undefined;
  readonly uid: string;
  readonly outcome: string;
  readonly place: Place;
}

/** Brings together commands of clusters and their results, in whatever order they come, and judges what stays alone. */
export class AnsweredClusterCommands {
  readonly #findings: Findings;
  readonly #coverages: Coverages;
  readonly #accounts = new Map<string, Account>();
  readonly #early = new Map<string, Placed<ClusterAnswer>[]>();
  /** Commands with all their results. */
  readonly #settled = new Set<string>();
  /** Ids by which executors answer what cannot be read. A command that has one of them is a command all the same. */
  readonly #unreadable = new Set<string>();
  /** Ids of commands by how executors name them that did not read them. */
  readonly #nameless = new Map<string, string>();
  /** Instances of clusters whose executors announce what they do. */
  readonly #announcing = new Set<string>();
  /** By cluster, when its agent last published what it saw. */
  readonly #lastHeardMs = new Map<string, number>();

  constructor(findings: Findings, coverages: Coverages) {
    this.#findings = findings;
    this.#coverages = coverages;
  }

  commanded(command: ClusterCommand, record: LogRecord, isEarlier = false): void {
    if (this.#accounts.has(command.id) || this.#settled.has(command.id)) return;
    const placed = { event: commandedBy(command), place: placeOf(record) };
    const account: Account = {
      command: placed,
      isEarlier,
      told: new Set(),
      announced: new Map(),
      announcedAt: null,
      unannounced: [],
      ending: null,
    };
    this.#accounts.set(command.id, account);
    for (const answer of this.#early.get(command.id) ?? []) this.#add(account, answer);
    this.#early.delete(command.id);
    const nameless = namelessId(record);
    this.#nameless.set(nameless, command.id);
    const unread = this.#early.get(nameless) ?? [];
    this.#early.delete(nameless);
    for (const answer of unread) this.#take(answer);
  }

  /** Something on the topic of commands that is none: executors answer it by this id. */
  unreadable(id: string): void {
    this.#unreadable.add(id);
  }

  answered(event: ClusterAnswer, record: LogRecord): void {
    if (event.type === 'fleetgc.cluster.command-intent') this.#announcing.add(event.clusterInstance);
    this.#take({ event, place: placeOf(record) });
  }

  #take(answer: Placed<ClusterAnswer>): void {
    const { event, place } = answer;
    const unread = isDistrust(event) ? this.#nameless.get(event.commandId) : undefined;
    const account = this.#accounts.get(unread ?? event.commandId);
    if (unread !== undefined && isDistrust(event)) {
      if (account !== undefined) account.ending ??= { event, place };
    } else if (account !== undefined) this.#add(account, answer);
    else if (!this.#settled.has(event.commandId)) addUnder(this.#early, event.commandId, answer);
  }

  heard({ key, timestampMs }: LogRecord): void {
    if (key !== null) this.#lastHeardMs.set(key, timestampMs);
  }

  /** `lastMs`: the time that the log has come to. */
  judge(judging: Judging, lastMs: number): void {
    for (const [id, account] of this.#accounts) {
      if ((account.ending ?? account.command).place.timestampMs >= judging.beforeMs) continue;
      if (!this.#judgeAccount(account, judging, lastMs)) continue;
      this.#accounts.delete(id);
      this.#settled.add(id);
    }
    for (const [id, answers] of this.#early)
      if (answers.every(({ place }) => place.timestampMs < judging.beforeMs)) this.#judgeEarly(id, answers);
  }

  #add(account: Account, answer: Placed<ClusterAnswer>): void {
    const { event, place } = answer;
    const problem = disagreement(account.command.event, event);
    if (problem !== null)
      this.#findings.deviation({
        ...problem,
        node: SUBJECTS.cluster.keyOf(event),
        places: [place, account.command.place],
      });
    else if (event.type === 'fleetgc.cluster.command-intent') announce(account, event, place);
    else if (event.type === 'fleetgc.cluster.object-results') this.#tell(account, event, place);
    else if (!isOfBystander(event, account.command.event)) account.ending = { event, place };
    if (problem === null && account.isEarlier) this.#findings.counts.ofEarlier++;
  }

  /** Executors of releases that wrote no intents do not name themselves; where any wrote one, all have to. */
  #tell(account: Account, event: ClusterObjectResults, place: Place): void {
    const { executor } = event;
    const announced = executor === undefined ? undefined : account.announced.get(executor);
    const hasToBe = executor !== undefined || this.#announcing.has(event.clusterInstance);
    for (const { object, result } of event.objects) {
      account.told.add(object.uid);
      if (hasToBe && isDeed(result) && !announced?.has(object.uid))
        account.unannounced.push({ executor, uid: object.uid, outcome: result.outcome, place });
    }
  }

  #judgeEarly(id: string, answers: readonly Placed<ClusterAnswer>[]): void {
    this.#early.delete(id);
    if (this.#unreadable.has(id)) return;
    for (const { event, place } of answers)
      if (place.timestampMs - LATE_RESULT_MS < this.#coverages.coverage('clusterCommands'))
        this.#findings.counts.outOfRange++;
      else
        this.#findings.deviation({
          kind: 'not-commanded',
          message: `there is no command ${id}`,
          node: SUBJECTS.cluster.keyOf(event),
          places: [place],
        });
  }

  /** Whether nothing more is expected of it. */
  #judgeAccount(account: Account, { atEnd }: Judging, lastMs: number): boolean {
    if (account.isEarlier) return atEnd;
    if (account.ending !== null || atEnd) this.#judgeIntents(account, lastMs);
    if (account.ending !== null) this.#judgeEnding(account, account.ending);
    else if (atEnd) this.#judgeUnanswered(account, lastMs);
    else return false;
    return true;
  }

  /** Where the results began after the command, intents may have been deleted, or were not asked for. */
  #judgeIntents(account: Account, lastMs: number): void {
    const { command, told, announced, announcedAt, unannounced } = account;
    const { event, place } = command;
    const { coverage, beganAfter } = this.#coverages;
    const isWhole =
      coverage('clusterResults') <= place.timestampMs && !beganAfter('clusterResults', place.timestampMs);
    const node = SUBJECTS.cluster.keyOf(event);
    for (const { executor, uid, outcome, place: at } of isWhole ? unannounced : [])
      this.#findings.deviation({
        kind: 'not-announced',
        message: `${uid}: ${outcome}, and ${executor === undefined ? 'it names no executor' : `executor ${executor} had not announced it`}`,
        node,
        places: [at, place],
      });
    const open = new Set(
      [...announced.values()].flatMap((uids) => [...uids].filter((uid) => !told.has(uid))),
    );
    if (open.size === 0 || announcedAt === null) return;
    if (place.timestampMs + event.lifetimeMs + SETTLED_MS >= lastMs) this.#findings.counts.open++;
    else
      this.#findings.gap({
        kind: 'intent-open',
        message: `${open.size} of its announced objects have no result`,
        node,
        places: [announcedAt, place],
      });
  }

  #judgeEnding({ command, told }: Account, { event, place }: Placed<ClusterCommandResult>): void {
    const missing = command.event.items.size - told.size;
    if (event.result.outcome === 'refused' || missing === 0) return;
    if (this.#coverages.beganAfter('clusterResults', command.place.timestampMs)) return;
    this.#findings.deviation({
      kind: 'result-missing',
      message: `the command was carried out, and ${missing} of its ${command.event.items.size} objects have no result`,
      node: SUBJECTS.cluster.keyOf(event),
      places: [place, command.place],
    });
  }

  #judgeUnanswered({ command: { event, place }, told }: Account, lastMs: number): void {
    const endMs = place.timestampMs + event.lifetimeMs;
    const node = SUBJECTS.cluster.keyOf(event);
    const heardMs = this.#lastHeardMs.get(node) ?? null;
    if (endMs >= lastMs) {
      this.#findings.counts.open++;
      return;
    }
    this.#findings.counts.expired++;
    if (told.size > 0)
      this.#findings.gap({
        kind: 'answer-missing',
        message: `${told.size} of its objects have results, and the command itself has none`,
        node,
        places: [place],
      });
    else {
      const kind = heardMs !== null && endMs + SETTLED_MS < heardMs ? 'node-lives-on' : 'node-silent';
      this.#findings.unanswered({ kind, id: event.id, node, place, heardMs });
    }
  }
}

function announce(account: Account, { executor, objects }: ClusterCommandIntent, place: Place): void {
  const uids = account.announced.get(executor) ?? new Set<string>();
  for (const { object } of objects) uids.add(object.uid);
  account.announced.set(executor, uids);
  account.announcedAt ??= place;
}

/** What the executor of a cluster says of a command or its objects. */
export type ClusterAnswer = ClusterCommandIntent | ClusterObjectResults | ClusterCommandResult;

interface Placed<Event> {
  readonly event: Event;
  readonly place: Place;
}

type Item = Pick<ClusterCommand['items'][number], 'rule'> & {
  readonly action: ClusterCommand['items'][number]['act']['action'];
};

/** What an executor has to announce before it does it. */
const isDeed = ({ outcome }: ClusterObjectResults['objects'][number]['result']): boolean =>
  outcome === 'removed' || outcome === 'accepted' || outcome === 'patched';

/** What of a command its results are checked against. */
type Commanded = Pick<ClusterCommand, 'id' | 'cluster' | 'clusterInstance' | 'decisionId' | 'lifetimeMs'> & {
  /** By the uids of their objects. */
  readonly items: ReadonlyMap<string, Item>;
};

/** Many are kept, and most of a command is not needed for it. */
export const commandedBy = (command: ClusterCommand): Commanded => ({
  id: command.id,
  cluster: command.cluster,
  clusterInstance: command.clusterInstance,
  decisionId: command.decisionId,
  lifetimeMs: command.lifetimeMs,
  items: new Map(command.items.map(({ object, rule, act }) => [object.uid, { rule, action: act.action }])),
});

interface Disagreement {
  readonly kind: 'result-differs' | 'not-commanded';
  readonly message: string;
}

/** Another cluster of the name refuses what is not for it, whatever the right one does with it. */
export const isOfBystander = (answer: ClusterAnswer, { clusterInstance }: Commanded): boolean =>
  answer.type === 'fleetgc.cluster.command-result' &&
  answer.clusterInstance !== clusterInstance &&
  answer.result.outcome === 'refused' &&
  answer.result.reason === 'other-instance';

/** What of an answer cannot be, by the command alone. */
export function disagreement(command: Commanded, answer: ClusterAnswer): Disagreement | null {
  const differs = (message: string): Disagreement => ({ kind: 'result-differs', message });
  if (answer.decisionId !== command.decisionId) return differs('it names another decision than the command');
  if (answer.clusterInstance !== command.clusterInstance && !isOfBystander(answer, command))
    return differs('it is of another cluster of that name than the command');
  if (!idsOf(answer).includes(answer.id)) return differs('its id does not follow from its command');
  switch (answer.type) {
    case 'fleetgc.cluster.command-intent':
      return answer.lifetimeMs === command.lifetimeMs
        ? objectDisagreement(command, answer.objects, () => 'announced')
        : differs('it gives the command another lifetime');
    case 'fleetgc.cluster.object-results':
      return objectDisagreement(command, answer.objects, ({ result }) => result.outcome);
    case 'fleetgc.cluster.command-result':
      return miscount(command, answer);
  }
}

function idsOf(answer: ClusterAnswer): readonly string[] {
  if (answer.type === 'fleetgc.cluster.object-results')
    return [clusterObjectResultsId(answer, answer.objects)];
  if (answer.type === 'fleetgc.cluster.command-intent')
    return [clusterIntentId(answer, answer.executor, answer.objects)];
  const { result } = answer;
  const own = clusterCommandResultId(answer);
  return result.outcome === 'refused' ? [own, clusterRejectedResultId(answer, result)] : [own];
}

function objectDisagreement<Named extends IntendedObject>(
  { items }: Commanded,
  objects: readonly Named[],
  wordOf: (named: Named) => string,
): Disagreement | null {
  for (const named of objects) {
    const { object, rule, action } = named;
    const item = items.get(object.uid);
    if (item === undefined)
      return {
        kind: 'not-commanded',
        message: `${object.kind} ${object.uid}: ${wordOf(named)}, and the command does not name it`,
      };
    if (rule !== item.rule || action !== item.action)
      return {
        kind: 'result-differs',
        message: `it gives ${action} by rule ${rule} for ${object.kind} ${object.uid}, and the command ${item.action} by rule ${item.rule}`,
      };
  }
  return null;
}

function miscount({ items }: Commanded, { result }: ClusterCommandResult): Disagreement | null {
  if (result.outcome === 'refused') return null;
  const told = Object.values(result.counts).reduce((sum, count) => sum + count, 0);
  return told === items.size
    ? null
    : { kind: 'result-differs', message: `it counts ${told} objects, and the command names ${items.size}` };
}

/**
 * What must not change between two records of one result. Two executors of a cluster may carry out a command at once, and each tells
 * of it in its own words and time.
 */
export const steadyClusterContent = (event: ClusterAnswer): string =>
  canonicalJson(
    event.type !== 'fleetgc.cluster.command-result'
      ? [
          event.commandId,
          event.decisionId,
          event.objects.map(({ object, rule, action }) => [object.uid, rule, action]),
        ]
      : [event.commandId, event.decisionId],
  );

/** Whether it is the refusal of a command that was not read, since nobody signed it who may. */
export const isDistrust = (answer: ClusterAnswer): answer is ClusterCommandResult =>
  answer.type === 'fleetgc.cluster.command-result' &&
  answer.result.outcome === 'refused' &&
  answer.result.reason === 'not-trusted';
