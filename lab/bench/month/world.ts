import { sha256Hex } from '../../../packages/canonical/ids.ts';
import type { FilesystemReadings } from '../../../schemas/events/filesystem.ts';
import type { NodeIdentity } from '../../../schemas/events/identity.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import { POOL_LABEL } from '../../../schemas/policy/policy-selection.ts';
import { type CatalogueImage, SANDBOX_IMAGE } from '../../sim/fleet/catalogue.ts';
import {
  availableBytes as availableOn,
  emptyImageDisk,
  hold,
  type ImageDisk,
  readingsOf,
} from '../../sim/fleet/node.ts';
import { evenChoice, type Random, seededRandom } from '../../sim/random.ts';

export const POOLS = ['web', 'batch', 'ml'] as const;

export interface NodeContainer {
  readonly id: string;
  readonly attempt: number;
  readonly createdMs: number;
  readonly image: CatalogueImage;
  /** `null` while it runs. */
  finishedMs: number | null;
}

export interface NodePod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly sandboxId: string;
  readonly createdMs: number;
  readonly containers: Map<string, NodeContainer>;
  isGone: boolean;
  hasSandbox: boolean;
  hasLogs: boolean;
}

/** One node as it is; what it publishes is read from here. */
export interface World extends ImageDisk {
  readonly identity: NodeIdentity;
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly random: Random;
  readonly bootId: string;
  readonly bootedMs: number;
  /** How far its clock is from that of the log. */
  readonly clockOffsetMs: number;
  /** By UID, the oldest first. */
  readonly pods: Map<string, NodePod>;
  readonly maximumPods: number;
  /** What is no image: the system, logs, data of pods. */
  otherBytes: bigint;
  /** Counts what was made, so that each has another id. */
  made: number;
}

const GIB = 2n ** 30n;
const CAPACITIES = [34n * GIB, 40n * GIB, 48n * GIB] as const;
const DAY_MS = 24 * 60 * 60 * 1000;

/** A node with nothing but its sandbox image, whose life follows from the seed. */
export function createWorld(seed: number, index: number, beginMs: number): World {
  const random = seededRandom(seed * 100_003 + index);
  const name = `node-${String(index).padStart(4, '0')}`;
  const capacityBytes = evenChoice(random, CAPACITIES) ?? CAPACITIES[0];
  const pool = POOLS[index % POOLS.length] ?? 'web';
  const world: World = {
    identity: { cluster: 'prod', node: name, nodeInstance: uuidOf(`installation ${seed} ${name}`) },
    nodeLabels: { [POOL_LABEL]: pool, 'kubernetes.io/arch': 'amd64', 'kubernetes.io/hostname': name },
    random,
    bootId: uuidOf(`boot ${seed} ${name}`),
    bootedMs: beginMs - Math.round((1 + random() * 40) * DAY_MS),
    clockOffsetMs: Math.round((random() - 0.5) * 400),
    ...emptyImageDisk(capacityBytes),
    pods: new Map(),
    maximumPods: 8 + Math.floor(random() * 8),
    otherBytes: (capacityBytes * BigInt(52 + Math.floor(random() * 10))) / 100n,
    made: 0,
  };
  hold(world, SANDBOX_IMAGE, beginMs);
  return world;
}

export const availableBytes = (world: World): bigint => availableOn(world, world.otherBytes);

/** One disk for everything. */
export const readings = (world: World): FilesystemReadings =>
  readingsOf(world.capacityBytes, availableBytes(world));

/** A time of the log as the node sees it. */
export const instantOf = ({ bootId, bootedMs, clockOffsetMs }: World, atMs: number): Instant => ({
  wallTimeMs: atMs + clockOffsetMs,
  bootId,
  sinceBootMs: atMs - bootedMs,
});

/** Another one with each call, the same in every run. */
export function nextDigest(world: World, what: string): string {
  world.made += 1;
  return sha256Hex(`${what} ${world.made} of ${world.identity.nodeInstance}`);
}

export const uuidOf = (text: string): string =>
  sha256Hex(text).replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-4$3-8$4-$5');
