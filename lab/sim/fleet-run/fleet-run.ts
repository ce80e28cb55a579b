import type { PolicySource } from '../../../packages/policy/policies.ts';
import type { ServiceProcess } from '../../../packages/service/service-process.ts';
import type { FleetFaults } from '../fleet/fleet-faults.ts';
import type { BusyFleet } from '../fleet/fleet-workload.ts';
import type { FleetAccount } from './account.ts';
import type { FleetMember } from './fleet-member.ts';
import type { FleetTally } from './fleet-tally.ts';

/** What is asked of a simulated fleet. */
export interface FleetRun {
  readonly process: ServiceProcess;
  readonly policies: PolicySource;
  readonly cluster: string;
  readonly nodes: number;
  readonly seed: number;
  /** Time of the fleet in that of the machine. */
  readonly rate: number;
  readonly durationMs: number;
  /** How long, at most, what was begun may end. */
  readonly drainMs: number;
  readonly faults: FleetFaults;
  /** Takes a line about how it goes. */
  readonly say: (line: string) => void;
}

/** A fleet on its way. */
export interface RunningFleet {
  readonly busyFleet: BusyFleet;
  readonly tally: FleetTally;
  readonly members: readonly FleetMember[];
  readonly failure: AbortController;
  readonly published: () => FleetAccount['published'];
  /** From here on no agent looks of itself. */
  quiet(): void;
}
