import type { Output } from '../../../packages/decision/handler.ts';
import type { PolicySource } from '../../../packages/policy/policies.ts';
import type { Command } from '../../../schemas/events/command.ts';
import type { ObjectKind } from '../../../schemas/events/object-kinds.ts';
import { OBSERVE_LIFETIME_MS } from '../../../schemas/events/observe.ts';
import type {
  CommandRefusal,
  CommandResult,
  ObjectOutcome,
  ObjectRefusal,
  ObjectResult,
  RemovalFailure,
} from '../../../schemas/events/result.ts';
import type { Policy, PolicySet } from '../../../schemas/policy/policy.ts';
import { selectPolicy } from '../../../schemas/policy/policy-selection.ts';
import type { NodeFault } from '../fleet/faults.ts';
import { availableAt, type Fleet, type FleetNode } from '../fleet/node.ts';
import type { Removal, RemovedKind } from '../fleet/node-runtime.ts';
import type { WorkloadEvent } from '../fleet/workload.ts';
import { type Wrong, wrongsOf } from '../fleet/wrong-removals.ts';

/** A removal that should not have been. */
export interface WrongRemoval extends Pick<Removal, 'kind' | 'id'> {
  readonly node: string;
  readonly atMs: number;
  readonly why: readonly (Wrong | 'not-listed')[];
}

/** Everything that a run has to account for. */
export interface FleetTally {
  readonly commanded: CommandTally;
  readonly orders: OrderTally;
  readonly pressures: PressureTally;
  readonly nodeFaults: Counter<NodeFault>;
  readonly life: Counter<WorkloadEvent['what']>;
  /** Something is about to go from a node: held against the truth. */
  removal(node: FleetNode, removal: Removal): void;
  acknowledged(node: FleetNode, output: Output): void;
  measured(node: FleetNode): void;
  onFault(fault: NodeFault): void;
  removals(): RemovalCounts;
}

export interface RemovalCounts {
  /** In truth, by kind. */
  readonly done: Counts<RemovedKind>;
  readonly wrong: number;
  readonly wrongs: readonly WrongRemoval[];
  readonly twice: number;
  readonly pressureUnrelieved: number;
}

const WRONGS_REPORTED = 20;

interface TallyParts {
  readonly fleet: Fleet;
  readonly policies: Pick<PolicySource, 'current' | 'problem'>;
  /** Milliseconds of a clock of the machine that does not jump. */
  readonly realNowMs: () => number;
}

export function createFleetTally({ fleet, policies, realNowMs }: TallyParts): FleetTally {
  const nowMs = () => fleet.time.now();
  const commanded = createCommandTally(nowMs);
  const orders = createOrderTally(nowMs);
  const pressures = createPressureTally(nowMs, realNowMs);
  const nodeFaults = createCounter<NodeFault>();
  const life = createCounter<WorkloadEvent['what']>();
  const done = createCounter<RemovedKind>();
  const counts = { wrong: 0, twice: 0, pressureUnrelieved: 0 };
  const wrongs: WrongRemoval[] = [];
  const policyOf = policyInForce(policies);
  const note = (node: FleetNode, removal: Removal, why: WrongRemoval['why']): void => {
    if (why.length === 0) return;
    counts.wrong += 1;
    const { kind, id } = removal;
    if (wrongs.length < WRONGS_REPORTED)
      wrongs.push({ node: node.identity.node, kind, id, atMs: nowMs(), why });
  };
  return {
    commanded,
    orders,
    pressures,
    nodeFaults,
    life,
    removal: (node, removal) => {
      const why = wrongsOf(removal, { node, nowMs: nowMs(), policy: policyOf(node) });
      if (removal.kind === 'stopped-container' || removal.kind === 'stopped-sandbox')
        return note(node, removal, why);
      const taken = commanded.takes(node.identity.node, removal.kind, removal.id);
      if (taken === 'twice') counts.twice += 1;
      note(node, removal, taken === 'not-listed' ? ['not-listed', ...why] : why);
      done.add(removal.kind);
      pressures.removed(node.identity.node);
    },
    acknowledged: (node, { event }) => {
      if (event.type === 'fleetgc.node.inventory' && event.trigger === 'order')
        orders.answered(node.identity.node);
      if (event.type === 'fleetgc.node.object-result') commanded.objectResult(event);
      if (event.type === 'fleetgc.node.command-result') commanded.commandResult(event);
      if (event.type === 'fleetgc.node.pressure-unrelieved') counts.pressureUnrelieved += 1;
    },
    measured: (node) => {
      const { capacityBytes } = node.disk;
      const availableBytes = availableAt(node, nowMs());
      pressures.measured(node.identity.node, { capacityBytes, availableBytes }, policyOf(node));
    },
    onFault: (fault) => nodeFaults.add(fault),
    removals: () => ({ done: { ...done.counts }, wrongs, ...counts }),
  };
}

/**
 * The policy under which something may go from a node now; `null` where nothing may. While the log cannot be read, it is
 * the last one known: what was begun under it goes on.
 */
function policyInForce(policies: TallyParts['policies']): (node: FleetNode) => Policy | null {
  let known: { readonly set: PolicySet; readonly of: Map<number, Policy | null> } | null = null;
  const readLately = (): typeof known => {
    if (policies.problem() !== null) return known;
    const set = policies.current.node();
    return known?.set.hash === set.hash ? known : { set, of: new Map() };
  };
  return ({ index, identity, nodeLabels }) => {
    known = readLately();
    if (known === null) return null;
    const cached = known.of.get(index);
    if (cached !== undefined) return cached;
    const selection = selectPolicy(known.set, { ...identity, nodeLabels });
    const policy =
      selection.kind === 'policy' && selection.record.policy.mode === 'enforce'
        ? selection.record.policy
        : null;
    known.of.set(index, policy);
    return policy;
  };
}

/** What the fleet was told to remove, and what it said became of it. */
interface CommandTally {
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

interface OpenCommand {
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
const COMMAND_GRACE_MS = 300_000;

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
    const untilMs = this.#nowMs() + command.lifetimeMs + COMMAND_GRACE_MS;
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

/** What became of the orders to observe, as the agents count them. */
interface OrderTally {
  /** An order came to a node that is there; `deliver` gives it to the agent. */
  arrives<T>(node: string, deliver: () => T): T;
  /** What an agent counted. */
  counted(node: string, outcome: string): void;
  /** An inventory that answers an order is on the log. */
  answered(node: string): void;
  /** The agent died with what it had. */
  interrupted(node: string): void;
  counts(): OrderCounts;
}

export interface OrderCounts {
  readonly received: number;
  readonly answered: number;
  /** By what agents said when they came, or when they waited too long. */
  readonly outcomes: Counts<string>;
  /** Waited with an agent that was killed; the log brings them to the next one. */
  readonly interrupted: number;
  /** Waiting yet, and not too old. */
  readonly open: number;
  /** Accepted long ago, and neither answered nor given up. */
  readonly lost: number;
}

interface NodeOrders {
  waiting: number;
  acceptedMs: number;
}

/** Beyond its lifetime an order that waits is given up within so long. */
const ORDER_GRACE_MS = 10_000;

export function createOrderTally(nowMs: () => number): OrderTally {
  const nodes = new Map<string, NodeOrders>();
  const outcomes = createCounter();
  const totals = { received: 0, answered: 0, interrupted: 0 };
  let arriving: string | null = null;
  const of = (node: string): NodeOrders => {
    const known = nodes.get(node) ?? { waiting: 0, acceptedMs: 0 };
    nodes.set(node, known);
    return known;
  };
  const done = (node: string): void => {
    const orders = of(node);
    orders.waiting = Math.max(0, orders.waiting - 1);
  };
  return {
    arrives: (node, deliver) => {
      totals.received += 1;
      arriving = node;
      try {
        return deliver();
      } finally {
        arriving = null;
      }
    },
    counted: (node, outcome) => {
      if (arriving === node && outcome === 'accepted') {
        of(node).waiting += 1;
        of(node).acceptedMs = nowMs();
      }
      if (arriving === null && outcome === 'expired') done(node);
      outcomes.add(arriving === null ? `${outcome}-waiting` : outcome);
    },
    answered: (node) => {
      totals.answered += 1;
      done(node);
    },
    interrupted: (node) => {
      totals.interrupted += of(node).waiting;
      of(node).waiting = 0;
    },
    counts: () => {
      const waiting = [...nodes.values()].filter((orders) => orders.waiting > 0);
      const isOld = ({ acceptedMs }: NodeOrders): boolean =>
        nowMs() - acceptedMs > OBSERVE_LIFETIME_MS + ORDER_GRACE_MS;
      const sum = (some: readonly NodeOrders[]): number =>
        some.reduce((total, one) => total + one.waiting, 0);
      return {
        ...totals,
        outcomes: { ...outcomes.counts },
        open: sum(waiting.filter((orders) => !isOld(orders))),
        lost: sum(waiting.filter(isOld)),
      };
    },
  };
}

/** Which disks are too full by their policy, since when, and how soon something went. */
interface PressureTally {
  /** How full the disk of a node is now. */
  measured(node: string, disk: MeasuredDisk, policy: Policy | null): void;
  /** Something of the node went. */
  removed(node: string): void;
  counts(): PressureCounts;
}

interface MeasuredDisk {
  readonly capacityBytes: bigint;
  readonly availableBytes: bigint;
}

export interface PressureCounts {
  /** Nodes that were above their threshold at least once. */
  readonly nodes: number;
  readonly relieved: number;
  /** Above it at the end. */
  readonly unrelieved: number;
  readonly times: number;
  /** From above the threshold to the first removal, in milliseconds of the fleet. */
  readonly toFirstRemovalMs: Spread;
  /** The same in those of the machine, which go on where it is too slow for the rate. */
  readonly toFirstRemovalRealMs: Spread;
}

interface Spread {
  readonly count: number;
  readonly p50: number | null;
  readonly p99: number | null;
}

interface Episode {
  readonly sinceMs: number;
  readonly sinceRealMs: number;
  hasRemoved: boolean;
}

function createPressureTally(nowMs: () => number, realNowMs: () => number): PressureTally {
  const open = new Map<string, Episode>();
  const everUnder = new Set<string>();
  const latencies: Readonly<Record<'fleetMs' | 'realMs', number[]>> = { fleetMs: [], realMs: [] };
  let times = 0;
  return {
    measured: (node, disk, policy) => {
      if (!isAbove(disk, policy)) {
        open.delete(node);
        return;
      }
      if (open.has(node)) return;
      open.set(node, { sinceMs: nowMs(), sinceRealMs: realNowMs(), hasRemoved: false });
      everUnder.add(node);
      times += 1;
    },
    removed: (node) => {
      const episode = open.get(node);
      if (episode === undefined || episode.hasRemoved) return;
      episode.hasRemoved = true;
      latencies.fleetMs.push(nowMs() - episode.sinceMs);
      latencies.realMs.push(Math.round(realNowMs() - episode.sinceRealMs));
    },
    counts: () => {
      const [nodes, unrelieved] = [everUnder.size, open.size];
      return {
        nodes,
        relieved: nodes - unrelieved,
        unrelieved,
        times,
        toFirstRemovalMs: spreadOf(latencies.fleetMs),
        toFirstRemovalRealMs: spreadOf(latencies.realMs),
      };
    },
  };
}

/** Used by at least the high threshold, in whole percent (D6). */
function isAbove({ capacityBytes, availableBytes }: MeasuredDisk, policy: Policy | null): boolean {
  if (policy === null) return false;
  const usedPercent = 100n - (availableBytes * 100n) / capacityBytes;
  return usedPercent >= BigInt(policy.imageGCHighThresholdPercent);
}

function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  return { count: sorted.length, p50: at(sorted, 0.5), p99: at(sorted, 0.99) };
}

const at = (sorted: readonly number[], share: number): number | null =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? null;

/** Of each name that came up, how often. */
type Counts<Name extends string> = Readonly<Partial<Record<Name, number>>>;

interface Counter<Name extends string> {
  add(name: Name, by?: number): void;
  readonly counts: Counts<Name>;
}

const createCounter = <Name extends string>(): Counter<Name> => {
  const counts: Partial<Record<Name, number>> = {};
  return {
    add: (name, by = 1) => {
      counts[name] = (counts[name] ?? 0) + by;
    },
    counts,
  };
};
