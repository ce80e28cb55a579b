import type { Command } from '../../schemas/events/command.ts';
import type { ObjectKind } from '../../schemas/events/object-kinds.ts';
import type { CommandResult, ObjectResult } from '../../schemas/events/result.ts';

/** What the fleet was told to remove, and what it said became of it. */
export interface Commanded {
  /** A command came to a node; `false` when it came before. */
  received(node: string, command: Command): boolean;
  objectResult(result: ObjectResult): void;
  commandResult(result: CommandResult): void;
  /** Something goes: whether a command of the node that is not over lists it, and has not taken it before. */
  takes(node: string, kind: string, id: string): 'listed' | 'twice' | 'not-listed';
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
  readonly commanded: Readonly<Record<string, number>>;
  /** Objects by what became of them; those refused by `refused`, failed ones by `failed`. */
  readonly outcomes: Readonly<Record<string, number>>;
  readonly refused: Readonly<Record<string, number>>;
  readonly failed: Readonly<Record<string, number>>;
  /** Objects of commands that are over, without a result of their own. */
  readonly withoutResult: number;
  /** Removed as the node says, and not in truth; and the other way round. */
  readonly saidNotDone: number;
  readonly doneNotSaid: number;
}

interface Item {
  told: string | null;
  isTaken: boolean;
}

interface Open {
  readonly node: string;
  /** By the time of the fleet. */
  readonly untilMs: number;
  readonly items: Map<string, Item>;
}

const keyOf = (kind: string, id: string): string => `${kind} ${id}`;

/** The removal in hand ends, however late, and commands before it in the journal too. */
const GRACE_MS = 300_000;

export function createCommanded(nowMs: () => number): Commanded {
  const seen = new Set<string>();
  const open = new Map<string, Open>();
  const byNode = new Map<string, Map<string, Open>>();
  const takenBefore = new Map<string, Set<string>>();
  const tally = createTally();
  const close = (id: string, command: Open): void => {
    open.delete(id);
    byNode.get(command.node)?.delete(id);
    tally.over(command);
    const taken = takenBefore.get(command.node) ?? new Set();
    for (const [key, { isTaken }] of command.items) if (isTaken) taken.add(key);
    takenBefore.set(command.node, taken);
  };
  return {
    received: (node, command) => {
      if (seen.has(command.id)) {
        tally.again();
        return false;
      }
      seen.add(command.id);
      const items = command.items.map(({ kind, id }): [string, Item] => [
        keyOf(kind, id),
        { told: null, isTaken: false },
      ]);
      const untilMs = nowMs() + command.lifetimeMs + GRACE_MS;
      const entry = { node, untilMs, items: new Map(items) };
      open.set(command.id, entry);
      byNode.set(node, (byNode.get(node) ?? new Map()).set(command.id, entry));
      tally.received(command.items.map(({ kind }) => kind));
      return true;
    },
    objectResult: ({ commandId, object, result }) => {
      const item = open.get(commandId)?.items.get(keyOf(object.kind, object.id));
      if (item === undefined || item.told !== null) return;
      item.told = result.outcome;
      tally.object(result);
    },
    commandResult: ({ commandId, result }) => {
      const command = open.get(commandId);
      if (command === undefined) return;
      tally.answered();
      if (result.outcome === 'refused') {
        for (const item of command.items.values()) item.told ??= 'refused-whole';
        tally.refusedWhole(result.reason, command.items.size);
      }
      close(commandId, command);
    },
    takes: (node, kind, id) => {
      const key = keyOf(kind, id);
      const items = [...(byNode.get(node)?.values() ?? [])].flatMap(
        (command) => command.items.get(key) ?? [],
      );
      const item = items.find(({ isTaken }) => !isTaken);
      if (item !== undefined) {
        item.isTaken = true;
        return 'listed';
      }
      return items.length > 0 || takenBefore.get(node)?.has(key) ? 'twice' : 'not-listed';
    },
    counts: tally.counts,
    open: () => [...open].map(([id, { node, untilMs }]) => ({ id, node, isOverdue: nowMs() > untilMs })),
  };
}

/** A number for each name. */
export const createCounter = () => {
  const counts: Record<string, number> = {};
  return {
    add: (name: string, by = 1): void => {
      counts[name] = (counts[name] ?? 0) + by;
    },
    counts,
  };
};

function createTally() {
  const commands = { received: 0, again: 0, answered: 0 };
  const [commanded, outcomes, refused, failed] = [
    createCounter(),
    createCounter(),
    createCounter(),
    createCounter(),
  ];
  let withoutResult = 0;
  /** By object, how much oftener it went than was said. Of two commands that list it nobody sees which one took it. */
  const balances = new Map<string, number>();
  const over = (object: string, { told, isTaken }: Item): void => {
    if (told === null) withoutResult += 1;
    const balance = (balances.get(object) ?? 0) + Number(isTaken) - Number(told === 'removed');
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
    object: (result: ObjectResult['result']): void => {
      outcomes.add(result.outcome);
      if (result.outcome === 'refused') refused.add(result.reason);
      if (result.outcome === 'failed') failed.add(result.reason);
    },
    refusedWhole: (reason: string, items: number): void => {
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
