import type { FilesystemReading, FilesystemReadings } from '../../../schemas/filesystem.ts';
import type { NodeIdentity } from '../../../schemas/identity.ts';
import { POOL_LABEL } from '../../../schemas/policy.ts';
import type { Instant } from '../../../schemas/time.ts';
import { sha256Hex } from '../../../services/shared/ids.ts';
import { type ContentPiece, contentOf, pieceKey } from '../../../services/simulator/image-content.ts';
import { evenChoice, type Random, seededRandom } from '../../../services/simulator/random.ts';
import { type CatalogueImage, SANDBOX_IMAGE } from './catalogue.ts';

export const POOLS = ['web', 'batch', 'ml'] as const;

export interface HeldImage {
  readonly image: CatalogueImage;
  readonly pieces: readonly ContentPiece[];
  readonly firstDetectedMs: number;
  lastUsedMs: number | null;
}

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
export interface World {
  readonly identity: NodeIdentity;
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly random: Random;
  readonly bootId: string;
  readonly bootedMs: number;
  /** How far its clock is from that of the log. */
  readonly clockOffsetMs: number;
  readonly capacityBytes: bigint;
  /** By id. */
  readonly images: Map<string, HeldImage>;
  /** By UID, the oldest first. */
  readonly pods: Map<string, NodePod>;
  readonly maximumPods: number;
  /** How many images have a piece, by its key. */
  readonly holders: Map<string, number>;
  /** What their pieces take, each once. */
  imageBytes: bigint;
  /** What is no image: the system, logs, data of pods. */
  otherBytes: bigint;
  /** Counts what was made, so that each has another id. */
  made: number;
}

const GIB = 2n ** 30n;
const CAPACITIES = [34n * GIB, 40n * GIB, 48n * GIB] as const;
const DAY_MS = 24 * 60 * 60 * 1000;
const INODES = 3_200_000;
const BYTES_PER_INODE = 16_384n;

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
    capacityBytes,
    images: new Map(),
    pods: new Map(),
    holders: new Map(),
    imageBytes: 0n,
    maximumPods: 8 + Math.floor(random() * 8),
    otherBytes: (capacityBytes * BigInt(52 + Math.floor(random() * 10))) / 100n,
    made: 0,
  };
  hold(world, SANDBOX_IMAGE, beginMs);
  return world;
}

/** The image is there; pulled now, unless it was. */
export function hold(world: World, image: CatalogueImage, atMs: number): HeldImage {
  const known = world.images.get(image.id);
  if (known !== undefined) return known;
  const held = { image, pieces: contentOf(image), firstDetectedMs: atMs, lastUsedMs: null };
  world.images.set(image.id, held);
  for (const piece of held.pieces) if (addHolder(world, piece, 1) === 1) world.imageBytes += piece.sizeBytes;
  return held;
}

/** The image goes, and with it what no other has. Returns whether it was there. */
export function drop(world: World, id: string): boolean {
  for (const piece of world.images.get(id)?.pieces ?? [])
    if (addHolder(world, piece, -1) === 0) world.imageBytes -= piece.sizeBytes;
  return world.images.delete(id);
}

function addHolder({ holders }: World, piece: ContentPiece, change: 1 | -1): number {
  const key = pieceKey(piece);
  const count = (holders.get(key) ?? 0) + change;
  holders.set(key, count);
  return count;
}

export function availableBytes({ capacityBytes, otherBytes, imageBytes }: World): bigint {
  const used = otherBytes + imageBytes;
  return used < capacityBytes ? capacityBytes - used : 0n;
}

/** One disk for everything. */
export function readings(world: World): FilesystemReadings {
  const available = availableBytes(world);
  const usedInodes = Number((world.capacityBytes - available) / BYTES_PER_INODE);
  const reading: FilesystemReading = {
    mountpoint: '/var/lib',
    device: '259:1',
    capacityBytes: String(world.capacityBytes),
    availableBytes: String(available),
    inodes: String(INODES),
    inodesFree: String(Math.max(0, INODES - usedInodes)),
  };
  return { nodefs: reading, imagefs: reading, containerfs: reading };
}

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
