import type { DiskStats } from '../../../schemas/events/disk-stats.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import type { ObjectResult, PressureUnrelieved, Removed } from '../../../schemas/events/result.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import type { Regret } from '../../../schemas/reports/audit-simulation.ts';
import type { RemovalSums } from './removal-sums.ts';

/** An image that went and was needed again within the window. */
export type RegrettedImage = Omit<Regret, 'side' | 'cluster' | 'node'>;

/** One of two ways in which a node is taken to have been run. Everything comes in the order of the log. */
export interface Side {
  /** A complete inventory, and the policy by whose thresholds time is counted. */
  look(inventory: CompleteInventory, atMs: number, policy: Policy | null): void;
  diskStats(stats: DiskStats, atMs: number): void;
  /** An object that really went. */
  wentAway(result: ObjectResult, removed: Removed, atMs: number): void;
  /** A reclaim that really ended above its target. */
  unrelieved(event: PressureUnrelieved): void;
  sums(): SideSums;
}

export interface SideSums extends RemovalSums {
  /** Removals for inodes, of which a guess tells how many are enough. */
  readonly guessed: number;
  readonly regretted: readonly RegrettedImage[];
  readonly unrelieved: number;
  readonly aboveMs: number;
  readonly unknownMs: number;
  readonly observedMs: number;
  readonly peakPercent: number | null;
  /** Since when the node is not any more as it was recorded; `null` where it always is. */
  readonly estimatedFromMs: number | null;
}
