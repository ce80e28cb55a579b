import type { Command, ObjectKind } from '../../../schemas/command.ts';
import type { CommandResult, ObjectResult } from '../../../schemas/result.ts';

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
  open(): readonly { readonly id: string; readonly node: string; readonly items: number }[];
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
  readonly items: Map<string, Item>;
}

const keyOf = (kind: string, id: string): string => `${kind} ${id}`;

export function createCommanded(): Commanded {
  const seen = new Set<string>();
  const open = new Map<string, Open>();
  const byNode = new Map<string, Map<string, Open>>();
  const takenBefore = new Map<string, Set<string>>();
  const tally = createTally();
  const close = (id: string, command: Open): void => {
    open.delete(id);
    byNode.get(command.node)?.delete(id);
    tally.over(command.items);
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
      const entry = { node, items: new Map(items) };
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
    open: () => [...open].map(([id, { node, items }]) => ({ id, node, items: items.size })),
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
  const doubts = { withoutResult: 0, saidNotDone: 0, doneNotSaid: 0 };
  const over = ({ told, isTaken }: Item): void => {
    if (told === null) doubts.withoutResult += 1;
    if (told === 'removed' && !isTaken) doubts.saidNotDone += 1;
    if (told !== 'removed' && isTaken) doubts.doneNotSaid += 1;
  };
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
    over: (items: ReadonlyMap<string, Item>): void => {
      for (const item of items.values()) over(item);
    },
    counts: (): CommandedCounts => ({
      commands: { ...commands },
      commanded: { ...commanded.counts },
      outcomes: { ...outcomes.counts },
      refused: { ...refused.counts },
      failed: { ...failed.counts },
      ...doubts,
    }),
  };
}
