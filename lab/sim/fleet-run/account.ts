import type { Published } from './fleet-member.ts';
import type {
  CommandedCounts,
  FleetTally,
  OrderCounts,
  PressureCounts,
  RemovalCounts,
  WrongRemoval,
} from './tally.ts';

/** What a run of a simulated fleet has to answer for. All times of the fleet are in milliseconds of its own time. */
export interface FleetAccount {
  readonly nodes: number;
  readonly seed: number;
  readonly cluster: string;
  readonly rate: { readonly asked: number; readonly achieved: number };
  readonly livedMs: number;
  readonly drainedMs: number;
  /** `false`: time was up before everything had its answer; what is overdue then is lost. */
  readonly isDrained: boolean;
  readonly realMs: number;
  readonly cpuMs: number;
  readonly peakMemoryBytes: number;
  readonly removals: {
    readonly commanded: CommandedCounts['commanded'];
    readonly outcomes: CommandedCounts['outcomes'];
    readonly refused: CommandedCounts['refused'];
    readonly failed: CommandedCounts['failed'];
    readonly done: RemovalCounts['done'];
    /** Must be 0, all three. */
    readonly wrong: number;
    readonly lost: number;
    readonly twice: number;
    readonly wrongs: readonly WrongRemoval[];
    /** What was lost, by what it was. */
    readonly losses: {
      readonly commands: number;
      readonly objects: number;
      readonly orders: number;
      readonly unread: number;
    };
    /** Removed as a node says and not in truth, and the other way round. */
    readonly saidNotDone: number;
    readonly doneNotSaid: number;
  };
  readonly commands: CommandedCounts['commands'] & {
    /** Without a result, and not overdue. */
    readonly open: number;
    /** Without a result, and overdue, though the node is there: lost. */
    readonly unanswered: number;
    /** Without a result, of nodes that are away. */
    readonly ofNodesAway: number;
  };
  readonly orders: OrderCounts;
  /** Orders on the log that the fleet had not read at the end. */
  readonly unread: number;
  readonly published: Published;
  readonly pressure: PressureCounts & { readonly unrelievedEvents: number };
  readonly fates: FleetTally['nodeFaults']['counts'];
  readonly life: FleetTally['life']['counts'];
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
    | 'isDrained'
    | 'realMs'
    | 'cpuMs'
    | 'peakMemoryBytes'
    | 'unread'
    | 'published'
  > {
  readonly isRunning: (node: string) => boolean;
}

export function accountOf(tally: FleetTally, { isRunning, ...facts }: RunFacts): FleetAccount {
  const { commands, withoutResult, ...counts } = tally.commanded.counts();
  const { pressureUnrelieved, ...removals } = tally.removals();
  const orders = tally.orders.counts();
  const open = tally.commanded.open();
  const here = open.filter(({ node }) => isRunning(node));
  const unanswered = here.filter(({ isOverdue }) => isOverdue).length;
  const losses = {
    commands: unanswered,
    objects: withoutResult,
    orders: orders.lost,
    unread: facts.unread,
  };
  const lost = Object.values(losses).reduce((sum, count) => sum + count, 0);
  return {
    ...facts,
    removals: { ...counts, ...removals, lost, losses },
    commands: {
      ...commands,
      open: here.length - unanswered,
      unanswered,
      ofNodesAway: open.length - here.length,
    },
    orders,
    pressure: { ...tally.pressures.counts(), unrelievedEvents: pressureUnrelieved },
    fates: { ...tally.nodeFaults.counts },
    life: { ...tally.life.counts },
  };
}

/** Whether everything is zero that must be. */
export const isClean = ({ removals: { wrong, lost, twice } }: FleetAccount): boolean =>
  wrong === 0 && lost === 0 && twice === 0;
