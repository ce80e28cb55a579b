import type { Books, WrongRemoval } from './books.ts';
import type { CommandedCounts } from './commanded.ts';
import type { OrderCounts } from './orders.ts';
import type { PressureCounts } from './pressures.ts';
import type { Published } from './published.ts';

/** What a run of a simulated fleet has to answer for. All times of the fleet are in milliseconds of its own time. */
export interface FleetAccount {
  readonly nodes: number;
  readonly seed: number;
  readonly cluster: string;
  readonly rate: { readonly asked: number; readonly achieved: number };
  readonly livedMs: number;
  readonly drainedMs: number;
  readonly realMs: number;
  readonly cpuMs: number;
  readonly peakMemoryBytes: number;
  readonly removals: {
    readonly commanded: Readonly<Record<string, number>>;
    readonly outcomes: Readonly<Record<string, number>>;
    readonly refused: Readonly<Record<string, number>>;
    readonly failed: Readonly<Record<string, number>>;
    readonly done: Readonly<Record<string, number>>;
    /** Must be 0, all three. */
    readonly wrong: number;
    readonly lost: number;
    readonly twice: number;
    readonly wrongs: readonly WrongRemoval[];
    /** Removed as a node says and not in truth, and the other way round. */
    readonly saidNotDone: number;
    readonly doneNotSaid: number;
  };
  readonly commands: CommandedCounts['commands'] & {
    /** Without a result, though the node is there: lost. */
    readonly unanswered: number;
    /** Without a result, of nodes that are away. */
    readonly ofNodesAway: number;
  };
  readonly orders: OrderCounts;
  /** Orders on the log that the fleet had not read at the end. */
  readonly unread: number;
  readonly published: Published;
  readonly pressure: PressureCounts & { readonly unrelievedEvents: number };
  readonly fates: Readonly<Record<string, number>>;
  readonly life: Readonly<Record<string, number>>;
}

/** What only who ran it knows. */
export interface RunFacts
  extends Pick<
    FleetAccount,
    | 'nodes'
    | 'seed'
    | 'cluster'
    | 'rate'
    | 'livedMs'
    | 'drainedMs'
    | 'realMs'
    | 'cpuMs'
    | 'peakMemoryBytes'
    | 'unread'
    | 'published'
  > {
  readonly isRunning: (node: string) => boolean;
}

export function accountOf(books: Books, { isRunning, ...facts }: RunFacts): FleetAccount {
  const { commands, withoutResult, ...counts } = books.commanded.counts();
  const { pressureUnrelieved, ...removals } = books.removals();
  const orders = books.orders.counts();
  const open = books.commanded.open();
  const unanswered = open.filter(({ node }) => isRunning(node)).length;
  const lost = unanswered + withoutResult + orders.lost + facts.unread;
  return {
    ...facts,
    removals: { ...counts, ...removals, lost },
    commands: { ...commands, unanswered, ofNodesAway: open.length - unanswered },
    orders,
    pressure: { ...books.pressures.counts(), unrelievedEvents: pressureUnrelieved },
    fates: { ...books.fates.counts },
    life: { ...books.life.counts },
  };
}

/** Whether everything is zero that must be. */
export const isClean = ({ removals: { wrong, lost, twice } }: FleetAccount): boolean =>
  wrong === 0 && lost === 0 && twice === 0;
