import { HOUR_MS } from '../../../packages/process/durations.ts';
import { between, seededRandom } from '../random.ts';
import type { FleetNode } from './node.ts';
import { powerOff, powerOn } from './node-kubelet.ts';
import type { BusyFleet } from './workload.ts';

/** How many of a hundred nodes meet a fault of each kind in the time that the fleet lives, and how often removals do. */
export interface FleetFaults {
  /** The processes of FleetGC are killed and come back in some seconds. */
  readonly killedPercent: number;
  /** The machine reboots. */
  readonly rebootedPercent: number;
  /** The machine goes and never comes back. */
  readonly vanishedPercent: number;
  /** The machine goes and comes back minutes later, with a clock that is hours or days old until somebody sets it. */
  readonly oldClockPercent: number;
  /** Of a hundred removals. */
  readonly failedRemovalPercent: number;
  readonly slowRemovalPercent: number;
  /** Of a hundred commands for images: a pod begins to use one of them when the command arrives. */
  readonly usedMeanwhilePercent: number;
}

/** What the processes of FleetGC on a node meet. */
interface NodeProcesses {
  kill(node: FleetNode): void;
  start(node: FleetNode): void;
}

/** A fault that a node met, for the account. */
export type NodeFault = 'killed' | 'rebooted' | 'vanished' | 'back-with-old-clock';

/** At most one fault per node, of which kind and when follows from the seed. */
export function planFaults(
  busyFleet: BusyFleet,
  node: FleetNode,
  { faults, processes, onFault }: FaultParts,
): void {
  const random = seededRandom(busyFleet.seed * 31 + node.index * 17 + 5);
  const fault = faultOf(random() * 100, faults);
  const atMs = Math.round((0.25 + 0.65 * random()) * busyFleet.untilMs);
  if (fault === null) return;
  const awayMs = AWAY[fault];
  const backMs = atMs + between(random, awayMs[0], awayMs[1]);
  const offsetMs = -between(random, HOUR_MS, 30 * 24 * HOUR_MS);
  let isAway = false;
  busyFleet.time.at(atMs, () => {
    if (busyFleet.isOver()) return;
    isAway = true;
    onFault(fault);
    processes.kill(node);
    if (fault !== 'killed') powerOff(busyFleet, node);
  });
  if (fault === 'vanished') return;
  busyFleet.time.at(backMs, () => {
    if (!isAway) return;
    if (fault !== 'killed') powerOn(busyFleet, node, fault === 'rebooted' ? node.clockOffsetMs : offsetMs);
    processes.start(node);
  });
  if (fault === 'back-with-old-clock')
    busyFleet.time.at(backMs + CLOCK_SET_AFTER_MS, () => {
      if (isAway) node.clockOffsetMs = 0;
    });
}

interface FaultParts {
  readonly faults: FleetFaults;
  readonly processes: NodeProcesses;
  readonly onFault: (fault: NodeFault) => void;
}

const CLOCK_SET_AFTER_MS = 90_000;
/** How long it is away, least and most. */
const AWAY: Readonly<Record<NodeFault, readonly [number, number]>> = {
  killed: [3_000, 30_000],
  rebooted: [40_000, 120_000],
  vanished: [0, 0],
  'back-with-old-clock': [120_000, 480_000],
};

function faultOf(place: number, faults: FleetFaults): NodeFault | null {
  const kinds: readonly (readonly [NodeFault, number])[] = [
    ['killed', faults.killedPercent],
    ['rebooted', faults.rebootedPercent],
    ['vanished', faults.vanishedPercent],
    ['back-with-old-clock', faults.oldClockPercent],
  ];
  let upTo = 0;
  for (const [fault, percent] of kinds) {
    upTo += percent;
    if (place < upTo) return fault;
  }
  return null;
}
