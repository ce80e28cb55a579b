import type { DiskStats } from '../../../schemas/events/disk-stats.ts';
import type { FilesystemReadings } from '../../../schemas/events/filesystem.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import type { ObjectKind } from '../../../schemas/events/object-kinds.ts';
import type { ReclaimTarget } from '../../../schemas/events/reclaim.ts';
import type { ObjectResult, PressureUnrelieved, Removed } from '../../../schemas/events/result.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import type { Regret, RemovedCounts } from '../../../schemas/reports/audit-simulation.ts';
import type { FreedSpace } from '../../decision/freed-space.ts';
import { missed } from '../../decision/thresholds/wanted-reclaim.ts';

/** An image that went and was needed again within the window. */
export type RegrettedImage = Omit<Regret, 'side' | 'cluster' | 'node'>;

/** One of two ways in which a node is taken to have been run. Everything comes in the order of the log. */
export interface ComparedRun {
  /** A complete inventory, and the policy by whose thresholds time is counted. */
  inventory(inventory: CompleteInventory, atMs: number, policy: Policy | null): void;
  diskStats(stats: DiskStats, atMs: number): void;
  /** An object that really went. */
  wentAway(result: ObjectResult, removed: Removed, atMs: number): void;
  /** A reclaim that really missed its target. */
  unrelieved(event: PressureUnrelieved): void;
  sums(): RunSums;
}

export interface RunSums extends RemovalTotals {
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

export interface RemovalTotals {
  readonly removed: RemovedCounts;
  /** By what the node measured. */
  readonly measuredBytes: bigint;
  /** By what plans counted those with that nobody measured. */
  readonly estimatedBytes: bigint;
  /** Of the removed, those of which there is neither. */
  readonly unknown: number;
}

/** Adds up what went, by kind. */
export class RemovalSums {
  #removed = NOTHING_REMOVED;
  #measuredBytes = 0n;
  #estimatedBytes = 0n;
  #unknown = 0;

  add(kind: ObjectKind, freed: FreedSpace): void {
    const counted = COUNTED_AS[kind];
    this.#removed = { ...this.#removed, [counted]: this.#removed[counted] + 1 };
    if (freed.how === 'measured') this.#measuredBytes += freed.bytes;
    else if (freed.estimatedBytes !== null) this.#estimatedBytes += freed.estimatedBytes;
    else this.#unknown++;
  }

  totals(): RemovalTotals {
    return {
      removed: this.#removed,
      measuredBytes: this.#measuredBytes,
      estimatedBytes: this.#estimatedBytes,
      unknown: this.#unknown,
    };
  }
}

/**
 * Counts how often reclaims could not reach their target. Real ones try again and again, simulated ones with each inventory:
 * so that both count alike, it is once until an inventory shows the target reached, or shows no reading.
 */
export class Shortages {
  readonly #missing = new Map<string, ReclaimTarget>();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** An inventory, before anything is decided on it. */
  inventory(filesystems: FilesystemReadings): void {
    for (const [key, target] of this.#missing)
      if (missed(target, filesystems) === null) this.#missing.delete(key);
  }

  /** A reclaim that missed its target. */
  unrelieved(target: ReclaimTarget): void {
    const key = `${target.filesystem} ${target.resource}`;
    if (!this.#missing.has(key)) this.#count++;
    this.#missing.set(key, target);
  }
}
