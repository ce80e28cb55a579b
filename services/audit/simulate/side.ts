import { missed } from '../../../packages/decision/thresholds/wanted-reclaim.ts';
import type { DiskStats } from '../../../schemas/events/disk-stats.ts';
import type { FilesystemReadings } from '../../../schemas/events/filesystem.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import type { ObjectKind } from '../../../schemas/events/object-kinds.ts';
import type { ReclaimTarget } from '../../../schemas/events/reclaim.ts';
import type { ObjectResult, PressureUnrelieved, Removed } from '../../../schemas/events/result.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import type { Regret, RemovedCounts } from '../../../schemas/reports/audit-simulation.ts';

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

const COUNTED_AS: Readonly<Record<ObjectKind, keyof RemovedCounts>> = {
  image: 'images',
  container: 'containers',
  sandbox: 'sandboxes',
  'pod-log-directory': 'logs',
  'log-symlink': 'logs',
};

export const NOTHING_REMOVED: RemovedCounts = { images: 0, containers: 0, sandboxes: 0, logs: 0 };

export interface RemovalSums {
  readonly removed: RemovedCounts;
  readonly freedBytes: bigint;
  /** Of the removed, those of which nobody knows what they free. */
  readonly unmeasured: number;
}

/** Adds up what went, by kind. */
export function createRemovalSums() {
  let removed = NOTHING_REMOVED;
  let freedBytes = 0n;
  let unmeasured = 0;
  return {
    add: (kind: ObjectKind, bytes: bigint | null): void => {
      const counted = COUNTED_AS[kind];
      removed = { ...removed, [counted]: removed[counted] + 1 };
      if (bytes === null) unmeasured++;
      else freedBytes += bytes;
    },
    sums: (): RemovalSums => ({ removed, freedBytes, unmeasured }),
  };
}

/**
 * Counts how often reclaims could not reach their target. Real ones try again and again, simulated ones with each inventory:
 * so that both count alike, it is once until an inventory shows the target reached, or shows no reading.
 */
export function createShortages() {
  const missing = new Map<string, ReclaimTarget>();
  let count = 0;
  return {
    /** An inventory, before anything is decided on it. */
    look: (filesystems: FilesystemReadings): void => {
      for (const [key, target] of missing) if (missed(target, filesystems) === null) missing.delete(key);
    },
    /** A reclaim that ended above its target. */
    unrelieved: (target: ReclaimTarget): void => {
      const key = `${target.filesystem} ${target.resource}`;
      if (!missing.has(key)) count++;
      missing.set(key, target);
    },
    count: (): number => count,
  };
}
