import { z } from 'zod';
import type { AnyDeciderName } from '../../../schemas/events/deciders.ts';
import type { DiskStats } from '../../../schemas/events/disk-stats.ts';
import type { FilesystemReadings } from '../../../schemas/events/filesystem.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import {
  type DeciderName,
  ObjectKind,
  type REMOVALS,
  type RemovalKind,
} from '../../../schemas/events/object-kinds.ts';
import { Reclaim, type ReclaimTarget } from '../../../schemas/events/reclaim.ts';
import type { ObjectResult, PressureUnrelieved, Removed } from '../../../schemas/events/result.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import type { Policy, PolicySet } from '../../../schemas/policy/policy.ts';
import type { Regret, RemovedCounts } from '../../../schemas/reports/audit-simulation.ts';
import { sha256Hex } from '../../canonical/ids.ts';
import type { FreedSpace } from '../../decision/freed-space.ts';
import { missed } from '../../decision/thresholds/wanted-reclaim.ts';
import { FleetGcError } from '../../process/errors.ts';
import { bundleName, type FrozenDecider, findDecider } from '../deciders/deciders.ts';
import frozen from '../deciders/hashes.json' with { type: 'json' };
import type { ClusterDeciders } from './clusters.ts';

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

interface RemovalTotals {
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

/** Of what deciders give, what a simulation acts on; a frozen decider may write more than is known today, or less. */
const Order = z.object({ type: z.literal('fleetgc.node.observe'), reclaim: Reclaim });
const Unrelieved = z.object({ type: z.literal('fleetgc.node.pressure-unrelieved') });
const Removal = z.object({
  type: z.literal('fleetgc.node.command'),
  items: z.array(
    z.object({
      kind: ObjectKind,
      id: z.string(),
      /** Of images. */
      estimatedBytes: z.int().nonnegative().optional(),
    }),
  ),
});

/** An object that a command would name. */
export type PlannedItem = z.infer<typeof Removal>['items'][number];

interface RemovalDecision {
  readonly items: readonly PlannedItem[];
  readonly unrelieved: boolean;
}

export interface Deciding {
  readonly deciders: SimulationDeciders;
  readonly policies: PolicySet;
}

/** The reclaim that these readings begin; `null` when there is none. */
export function decideReclaim(stats: DiskStats, { deciders, policies }: Deciding): Reclaim | null {
  const order = outputs(deciders.pressure, TOPICS.diskStats.name, { event: stats, policies })
    .map((output) => Order.safeParse(output).data)
    .find((each) => each !== undefined);
  return order?.reclaim ?? null;
}

/** What would go of this inventory by the decider of containers or that of images. */
export function decideRemoval(
  by: RemovalDecider,
  inventory: CompleteInventory,
  { deciders, policies }: Deciding,
): RemovalDecision {
  const events = outputs(deciders[by], TOPICS.inventory.name, { event: inventory, policies });
  const removals = events.flatMap((event) => Removal.safeParse(event).data ?? []);
  return {
    items: removals.flatMap(({ items }) => items),
    unrelieved: events.some((event) => Unrelieved.safeParse(event).success),
  };
}

interface Question {
  readonly event: CompleteInventory | DiskStats;
  readonly policies: PolicySet;
}

function outputs(
  { read, decide }: FrozenDecider,
  topic: string,
  { event, policies }: Question,
): readonly unknown[] {
  const text = JSON.stringify(event);
  const position = { topic, partition: 0, offset: '0', sha256: sha256Hex(text) };
  return decide(read(JSON.parse(text)), position, policies).map((given) => given.event);
}

/** What a simulation decides with. */
export type SimulationDeciders = Readonly<Record<DeciderName, FrozenDecider>>;

/** Who decides what is to be removed. */
export type RemovalDecider = (typeof REMOVALS)[RemovalKind]['decider'];

/** The newest frozen ones: a policy that is tried today would be carried out by them. */
export const newestDeciders = async (): Promise<SimulationDeciders> => ({
  pressure: await newest('pressure'),
  'container-gc': await newest('container-gc'),
  'image-gc': await newest('image-gc'),
});

/** The same of those that decide about clusters. */
export const newestClusterDeciders = async (): Promise<ClusterDeciders> => ({
  'graph-gc': await newest('graph-gc'),
  'pod-gc': await newest('pod-gc'),
  'expiry-gc': await newest('expiry-gc'),
});

async function newest(name: AnyDeciderName): Promise<FrozenDecider> {
  const prefix = bundleName(name, '');
  const versions = Object.keys(frozen)
    .filter((file) => file.startsWith(prefix))
    .map((file) => Number(file.slice(prefix.length)));
  const decider = await findDecider(name, String(Math.max(...versions)));
  if (decider !== null) return decider;
  throw new FleetGcError('DECIDER_CHANGED', `this release has no frozen decider ${name}. Install it again`);
}
