import type { LogRecord } from '../../../../packages/event-log/port.ts';
import type { ClusterCommand } from '../../../../schemas/events/cluster-command.ts';
import type { ClusterCommandResult } from '../../../../schemas/events/cluster-result.ts';
import { SUBJECTS } from '../../../../schemas/events/identity.ts';
import { placeOf } from '../../events/log-position.ts';
import { namelessId } from '../commands/command-account.ts';
import { type Coverages, type Judging, LATE_RESULT_MS, SETTLED_MS } from '../coverage.ts';
import type { Findings } from '../findings.ts';
import {
  type ClusterAnswer,
  type Commanded,
  commandedBy,
  disagreement,
  isDistrust,
  isOfBystander,
  type Placed,
} from './cluster-answers.ts';

/** A command and what became of it so far. */
interface Account {
  readonly command: Placed<Commanded>;
  /** It lies before the range: what became of it may lie there too. */
  readonly isEarlier: boolean;
  /** Uids of objects that have a result. */
  readonly told: Set<string>;
  ending: Placed<ClusterCommandResult> | null;
}

/** Brings together commands of clusters and their results, in whatever order they come, and judges what stays alone. */
export class AnsweredClusterCommands {
  readonly #findings: Findings;
  readonly #coverages: Coverages;
  readonly #accounts = new Map<string, Account>();
  readonly #early = new Map<string, Placed<ClusterAnswer>[]>();
  /** Of nothing more is expected: with all their results, or no commands at all. */
  readonly #others = new Set<string>();
  /** Ids of commands by how executors name them that did not read them. */
  readonly #nameless = new Map<string, string>();
  /** By cluster, when its agent last published what it saw. */
  readonly #lastHeardMs = new Map<string, number>();

  constructor(findings: Findings, coverages: Coverages) {
    this.#findings = findings;
    this.#coverages = coverages;
  }

  commanded(command: ClusterCommand, record: LogRecord, isEarlier = false): void {
    if (this.#accounts.has(command.id) || this.#others.has(command.id)) return;
    const placed = { event: commandedBy(command), place: placeOf(record) };
    const account = { command: placed, isEarlier, told: new Set<string>(), ending: null };
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
    this.#others.add(id);
    this.#early.delete(id);
  }

  answered(event: ClusterAnswer, record: LogRecord): void {
    this.#take({ event, place: placeOf(record) });
  }

  #take(answer: Placed<ClusterAnswer>): void {
    const { event, place } = answer;
    const unread = isDistrust(event) ? this.#nameless.get(event.commandId) : undefined;
    const account = this.#accounts.get(unread ?? event.commandId);
    if (unread !== undefined && isDistrust(event)) {
      if (account !== undefined) account.ending ??= { event, place };
    } else if (account !== undefined) this.#add(account, answer);
    else if (!this.#others.has(event.commandId))
      this.#early.set(event.commandId, [...(this.#early.get(event.commandId) ?? []), answer]);
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
      this.#others.add(id);
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
    else if (event.type === 'fleetgc.cluster.object-results')
      for (const { object } of event.objects) account.told.add(object.uid);
    else if (!isOfBystander(event, account.command.event)) account.ending = { event, place };
    if (problem === null && account.isEarlier) this.#findings.counts.ofEarlier++;
  }

  #judgeEarly(id: string, answers: readonly Placed<ClusterAnswer>[]): void {
    this.#early.delete(id);
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
    if (account.ending !== null) this.#judgeEnding(account, account.ending);
    else if (atEnd) this.#judgeUnanswered(account, lastMs);
    else return false;
    return true;
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
