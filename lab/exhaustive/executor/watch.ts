import { z } from 'zod';
import type { OutgoingRecord } from '../../../packages/log/port.ts';
import { parseValue } from '../../../packages/records/parse/parse-record.ts';
import type { Command } from '../../../schemas/events/command.ts';
import type { CommandResult, ObjectResult } from '../../../schemas/events/result.ts';
import type { EventOf } from '../../../schemas/events/topics.ts';
import { JOURNAL_FILE, JournalState } from '../../../services/node/executor/journal.ts';
import { memoizedParse } from '../memoized-parse.ts';
import type { ListedKind, Watcher } from './life.ts';
import type { Node } from './node.ts';
import { KEPT, type Scenario } from './scenario.ts';

/** What was to be seen when the process looked last. */
interface LastLook {
  readonly isPaused: boolean;
  readonly policyHash: string;
}

const parseJournal = memoizedParse(JournalState);
const parseResult = memoizedParse(
  z.json().transform((value) => {
    const parsed = parseValue('results', value);
    // Without an order of keys, which a journal that is read again changes.
    return parsed.ok ? { event: parsed.event, json: JSON.stringify(parsed.event) } : null;
  }),
);

const reasonOf = (result: ObjectResult['result'] | CommandResult['result']): string =>
  'reason' in result ? `${result.outcome} ${result.reason}` : result.outcome;

/** Watches one node from the outside, over all lives of its executor, for what must never be. */
export class Watch implements Watcher {
  readonly #node: Node;
  readonly #scenario: Scenario;
  /** By id, as they came first; a repetition must be equal. */
  readonly #results: Map<string, string>;
  /** What each list said when it was read last. */
  readonly #listed: Map<ListedKind, readonly string[]>;
  #lastLook: LastLook | null;
  #wrong: string | null;

  constructor(node: Node, scenario: Scenario, before: Watch | null = null) {
    this.#node = node;
    this.#scenario = scenario;
    this.#results = new Map(before === null ? [] : before.#results);
    this.#listed = new Map(before === null ? [] : before.#listed);
    this.#lastLook = before === null ? null : before.#lastLook;
    this.#wrong = before === null ? null : before.#wrong;
  }

  /** The same of a copy of the node. */
  copy(node: Node): Watch {
    return new Watch(node, this.#scenario, this);
  }

  get wrong(): string | null {
    return this.#wrong;
  }

  listed(kind: ListedKind, ids: readonly string[]): void {
    this.#listed.set(kind, ids);
  }

  looked(): void {
    const { isPaused, policy, touched } = this.#node;
    touched.readPolicy = true;
    this.#lastLook = { isPaused, policyHash: policy.hash };
  }

  asked(id: string): void {
    const look = this.#lastLook;
    const inHand = this.#inHand(id);
    if (inHand === null) this.#tell('removed without an entry in the journal first');
    else if (look === null) this.#tell('removed without a look');
    else if (look.isPaused) this.#tell('removed after a pause that was set before the last look');
    else if (inHand.policy.hash !== look.policyHash)
      this.#tell('removed under another policy than the one in force at the last look');
    else if (KEPT[look.policyHash]?.includes(id)) this.#tell('removed what the policy keeps');
    else if (!this.#isListed(id)) this.#tell('asked for what the last look did not list');
  }

  published(records: readonly OutgoingRecord[]): void {
    this.#node.touched.hadEffect = true;
    for (const { value } of records) this.#publish(String(value));
  }

  /** What decides whether something is wrong later on. A process that waits for a command has to look anew. */
  key(isIdle: boolean): string {
    const results = [...this.#results.values()].toSorted();
    return JSON.stringify([results, isIdle ? null : [this.#lastLook, [...this.#listed]]]);
  }

  /** What is missing now that nothing goes on. */
  wrongAtRest(): string | null {
    const { entries, unpublished } = this.#journal();
    if (entries.length > 0) return 'a command is left in the journal';
    if (unpublished.length > 0) return 'a result is left in the journal';
    const ends = this.#scenario.commands.map((command) => this.#wrongEnd(command));
    const gone = this.#node.gone.map((id) => this.#wrongGone(id));
    return [...ends, ...gone].find((wrong) => wrong !== null) ?? null;
  }

  /** What became of commands and objects. */
  endings(): readonly string[] {
    return this.#events()
      .flatMap((event) => ('result' in event ? [`${event.id} ${reasonOf(event.result)}`] : []))
      .toSorted();
  }

  #isListed(id: string): boolean {
    return [...this.#listed.values()].some((ids) => ids.includes(id));
  }

  #publish(text: string): void {
    const parsed = parseResult(text);
    if (parsed === null) {
      this.#tell('published what nobody can read');
      return;
    }
    const { event, json } = parsed;
    const before = this.#results.get(event.id);
    if (before === undefined) this.#results.set(event.id, json);
    else if (before !== json) this.#tell('two results with one id contradict each other');
  }

  #wrongEnd({ id: commandId, items }: Command): string | null {
    const end = this.#events().find(
      (event) => event.type === 'fleetgc.node.command-result' && event.commandId === commandId,
    );
    if (end?.type !== 'fleetgc.node.command-result') return 'a command has no result';
    if (end.result.outcome === 'refused') return null;
    const outcomes = this.#objectResults().filter((one) => one.commandId === commandId);
    if (outcomes.length !== items.length) return 'an object of a command has no result';
    const removed = outcomes.filter(({ result }) => result.outcome === 'removed').length;
    return removed === end.result.removed ? null : 'the result of a command contradicts those of its objects';
  }

  /** What went is told of: as removed, or that it may go yet. */
  #wrongGone(id: string): string | null {
    const outcomes = this.#objectResults().flatMap(({ object, result }) =>
      object.id === id ? [result.outcome] : [],
    );
    if (outcomes.filter((outcome) => outcome === 'removed').length > 1) return 'removed by two results';
    const isTold = outcomes.includes('removed') || outcomes.includes('failed');
    return isTold ? null : 'an object that was removed is not told of';
  }

  #objectResults(): readonly ObjectResult[] {
    return this.#events().filter((event) => event.type === 'fleetgc.node.object-result');
  }

  #events(): readonly EventOf<'results'>[] {
    return [...this.#results.values()].flatMap((json) => parseResult(json)?.event ?? []);
  }

  /** The command that has the object in hand by the journal on disk. */
  #inHand(id: string): Command | null {
    for (const { command, items } of this.#journal().entries) {
      const index = command.items.findIndex((item) => item.id === id);
      if (items[index]?.state === 'in-hand') return command;
    }
    return null;
  }

  #journal(): JournalState {
    return parseJournal(this.#node.files.get(JOURNAL_FILE) ?? 'null');
  }

  #tell(problem: string): void {
    this.#wrong ??= problem;
  }
}
