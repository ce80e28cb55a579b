import type { Command } from '../../../schemas/events/command.ts';
import type { ObjectKind } from '../../../schemas/events/object-kinds.ts';
import type {
  CommandRefusal,
  CommandResult,
  ObjectOutcome,
  ObjectRefusal,
  ObjectResult,
  RemovalFailure,
} from '../../../schemas/events/result.ts';
import { type Counts, createCounter } from './counter.ts';

/** What the fleet was told to remove, and what it said became of it. */
export interface CommandTally {
  /** A command came to a node; `false` when it came before. */
  received(node: string, command: Command): boolean;
  objectResult(result: ObjectResult): void;
  commandResult(result: CommandResult): void;
  /** Something goes: whether a command of the node that is not over lists it, and has not taken it before. */
  takes(node: string, kind: ObjectKind, id: string): 'listed' | 'twice' | 'not-listed';
  counts(): CommandedCounts;
  /** Commands without a result, by their node. */
  open(): readonly OpenCommand[];
}

export interface OpenCommand {
  readonly id: string;
  readonly node: string;
  /** It should have had its result by now, however slow the removals were. */
  readonly isOverdue: boolean;
}

export interface CommandedCounts {
  readonly commands: { readonly received: number; readonly again: number; readonly answered: number };
  /** Objects of all commands, by kind. */
  readonly commanded: Counts<ObjectKind>;
  /** Objects by what became of them; those refused by `refused`, failed ones by `failed`. */
  readonly outcomes: Counts<ObjectOutcome['outcome']>;
  readonly refused: Counts<ObjectRefusal>;
  readonly failed: Counts<RemovalFailure>;
  /** Objects of commands that are over, without a result of their own. */
  readonly withoutResult: number;
  /** Removed as the node says, and not in truth; and the other way round. */
  readonly saidNotDone: number;
  readonly doneNotSaid: number;
}

interface Item {
  reported: ObjectOutcome['outcome'] | 'refused-whole' | null;
  isTaken: boolean;
}

interface Open {
  readonly node: string;
  /** By the time of the fleet. */
  readonly untilMs: number;
  readonly items: Map<string, Item>;
}

const keyOf = (kind: ObjectKind, id: string): string => `${kind} ${id}`;

/** The removal in hand ends, however late, and commands before it in the journal too. */
const GRACE_MS = 300_000;

export const createCommandTally = (nowMs: () => number): CommandTally => new CommandsOfFleet(nowMs);

class CommandsOfFleet implements CommandTally {
  readonly #nowMs: () => number;
  readonly #seen = new Set<string>();
  readonly #open = new Map<string, Open>();
  readonly #byNode = new Map<string, Map<string, Open>>();
  readonly #takenBefore = new Map<string, Set<string>>();
  readonly #tally = createTally();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  received(node: string, command: Command): boolean {
    if (this.#seen.has(command.id)) {
      this.#tally.again();
      return false;
    }
    this.#seen.add(command.id);
    const items = command.items.map(({ kind, id }): [string, Item] => [
      keyOf(kind, id),
      { reported: null, isTaken: false },
    ]);
    const untilMs = this.#nowMs() + command.lifetimeMs + GRACE_MS;
    const entry = { node, untilMs, items: new Map(items) };
    this.#open.set(command.id, entry);
    this.#byNode.set(node, (this.#byNode.get(node) ?? new Map()).set(command.id, entry));
    this.#tally.received(command.items.map(({ kind }) => kind));
    return true;
  }

  objectResult({ commandId, object, result }: ObjectResult): void {
    const item = this.#open.get(commandId)?.items.get(keyOf(object.kind, object.id));
    if (item === undefined || item.reported !== null) return;
    item.reported = result.outcome;
    this.#tally.object(result);
  }

  commandResult({ commandId, result }: CommandResult): void {
    const command = this.#open.get(commandId);
    if (command === undefined) return;
    this.#tally.answered();
    if (result.outcome === 'refused') {
      for (const item of command.items.values()) item.reported ??= 'refused-whole';
      this.#tally.refusedWhole(result.reason, command.items.size);
    }
    this.#close(commandId, command);
  }

  takes(node: string, kind: ObjectKind, id: string): 'listed' | 'twice' | 'not-listed' {
    const key = keyOf(kind, id);
    const commands = [...(this.#byNode.get(node)?.values() ?? [])];
    const items = commands.flatMap((command) => command.items.get(key) ?? []);
    const item = items.find(({ isTaken }) => !isTaken);
    if (item !== undefined) {
      item.isTaken = true;
      return 'listed';
    }
    return items.length > 0 || this.#takenBefore.get(node)?.has(key) ? 'twice' : 'not-listed';
  }

  counts(): CommandedCounts {
    return this.#tally.counts();
  }

  open(): readonly OpenCommand[] {
    const nowMs = this.#nowMs();
    return [...this.#open].map(([id, { node, untilMs }]) => ({ id, node, isOverdue: nowMs > untilMs }));
  }

  #close(id: string, command: Open): void {
    this.#open.delete(id);
    this.#byNode.get(command.node)?.delete(id);
    this.#tally.over(command);
    const taken = this.#takenBefore.get(command.node) ?? new Set();
    for (const [key, { isTaken }] of command.items) if (isTaken) taken.add(key);
    this.#takenBefore.set(command.node, taken);
  }
}

function createTally() {
  const commands = { received: 0, again: 0, answered: 0 };
  const commanded = createCounter<ObjectKind>();
  const outcomes = createCounter<ObjectOutcome['outcome']>();
  const refused = createCounter<ObjectRefusal>();
  const failed = createCounter<RemovalFailure>();
  let withoutResult = 0;
  /** By object, how much oftener it went than was said. Of two commands that list it nobody sees which one took it. */
  const balances = new Map<string, number>();
  const over = (object: string, { reported, isTaken }: Item): void => {
    if (reported === null) withoutResult += 1;
    const balance = (balances.get(object) ?? 0) + Number(isTaken) - Number(reported === 'removed');
    if (balance === 0) balances.delete(object);
    else balances.set(object, balance);
  };
  const sumOf = (sign: 1 | -1): number =>
    [...balances.values()].reduce((sum, balance) => sum + Math.max(0, sign * balance), 0);
  return {
    again: (): void => {
      commands.again += 1;
    },
    answered: (): void => {
      commands.answered += 1;
    },
    received: (kinds: readonly ObjectKind[]): void => {
      commands.received += 1;
      for (const kind of kinds) commanded.add(kind);
    },
    object: (result: ObjectOutcome): void => {
      outcomes.add(result.outcome);
      if (result.outcome === 'refused') refused.add(result.reason);
      if (result.outcome === 'failed') failed.add(result.reason);
    },
    refusedWhole: (reason: CommandRefusal, items: number): void => {
      outcomes.add('refused', items);
      refused.add(reason, items);
    },
    over: ({ node, items }: Open): void => {
      for (const [key, item] of items) over(`${node} ${key}`, item);
    },
    counts: (): CommandedCounts => ({
      commands: { ...commands },
      commanded: { ...commanded.counts },
      outcomes: { ...outcomes.counts },
      refused: { ...refused.counts },
      failed: { ...failed.counts },
      withoutResult,
      saidNotDone: sumOf(-1),
      doneNotSaid: sumOf(1),
    }),
  };
}
