import { DAY_MS, HOUR_MS } from '../../../packages/process/durations.ts';
import type { FilesystemReadings } from '../../../schemas/events/filesystem.ts';
import type { NodeIdentity } from '../../../schemas/events/identity.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import { POOL_LABEL } from '../../../schemas/policy/policy-selection.ts';
import { uidOf } from '../kubelet/kubelet-pod.ts';
import { evenChoice, type Random, seededRandom } from '../workload/random.ts';
import { type Catalogue, SANDBOX_IMAGE } from './fleet-catalogue.ts';
import type { FleetPod, Stamp } from './fleet-pod.ts';
import type { FleetTime } from './fleet-time.ts';
import { availableBytes, emptyImageDisk, hold, type ImageDisk, readingsOf } from './image-disk.ts';

/** What all nodes of a fleet share. */
export interface Fleet {
  readonly cluster: string;
  readonly seed: number;
  readonly time: FleetTime;
  /** Epoch milliseconds when the time of the fleet is 0. */
  readonly epochMs: number;
  readonly catalogue: Catalogue;
}

/** What is no image grows by the hour. */
interface OtherBytes {
  bytes: number;
  sinceMs: number;
  readonly bytesPerMs: number;
}

/** Who is told of what happens on a node. */
export interface NodeWatcher {
  listingChanged(): void;
  diskChanged(): void;
  containerDied(id: string): void;
}

const NOBODY: NodeWatcher = { listingChanged: () => {}, diskChanged: () => {}, containerDied: () => {} };

/** The truth of one node: what is there, by the time of the fleet and not by any clock of the node. */
export interface FleetNode extends NodeClockState {
  readonly index: number;
  readonly identity: NodeIdentity;
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly disk: ImageDisk;
  readonly other: OtherBytes;
  /** What containers wrote beside their images. */
  layerBytes: bigint;
  /** By UID, the oldest first. */
  readonly pods: Map<string, FleetPod>;
  readonly maximumPods: number;
  /** Chances that its life takes, in an order that nobody else disturbs. */
  readonly random: Random;
  podsMade: number;
  kubeletProcesses: number;
  /** Whether the machine runs. */
  isUp: boolean;
  watcher: NodeWatcher;
}

interface NodeClockState {
  bootId: string;
  bootedMs: number;
  /** How far its wall clock is from the time of the fleet. */
  clockOffsetMs: number;
}

export const POOLS = ['web', 'batch', 'ml'] as const;
const GIB = 2n ** 30n;
const CAPACITIES = [80n * GIB, 100n * GIB, 160n * GIB] as const;
/** By how many percent of the disk what is no image grows in an hour, and up to which of a hundred nodes it is so. */
const GROWTH = [
  { upTo: 65, atLeast: 0.5, atMost: 3 },
  { upTo: 92, atLeast: 6, atMost: 20 },
  { upTo: 100, atLeast: 20, atMost: 60 },
] as const;

/** A node with nothing but its sandbox image, and no time for anything yet. */
export function createFleetNode(
  { cluster, seed, epochMs }: Pick<Fleet, 'cluster' | 'seed' | 'epochMs'>,
  index: number,
): FleetNode {
  const random = seededRandom(seed * 1_000_003 + index);
  const name = `node-${String(index).padStart(5, '0')}`;
  const capacityBytes = evenChoice(random, CAPACITIES) ?? CAPACITIES[0];
  const node: FleetNode = {
    index,
    identity: { cluster, node: name, nodeInstance: uidOf(`installation ${seed} ${cluster}/${name}`) },
    nodeLabels: {
      [POOL_LABEL]: POOLS[index % POOLS.length] ?? POOLS[0],
      'kubernetes.io/arch': 'amd64',
      'kubernetes.io/hostname': name,
    },
    disk: emptyImageDisk(capacityBytes),
    other: { bytes: 0, sinceMs: 0, bytesPerMs: growthOf(random, capacityBytes) },
    layerBytes: 0n,
    pods: new Map(),
    maximumPods: 18 + Math.floor(random() * 20),
    random,
    bootId: uidOf(`boot of ${seed} ${name} for a fleet that began at ${epochMs}`),
    bootedMs: -Math.round((1 + random() * 40) * DAY_MS),
    clockOffsetMs: Math.round((random() - 0.5) * 400),
    podsMade: 0,
    kubeletProcesses: 1,
    isUp: true,
    watcher: NOBODY,
  };
  hold(node.disk, SANDBOX_IMAGE, node.bootedMs);
  return node;
}

function growthOf(random: Random, capacityBytes: bigint): number {
  const place = random() * 100;
  const kind = GROWTH.find(({ upTo }) => place < upTo) ?? GROWTH[0];
  const percentPerHour = kind.atLeast + random() * (kind.atMost - kind.atLeast);
  return (Number(capacityBytes) * percentPerHour) / 100 / HOUR_MS;
}

export const otherBytesAt = ({ other }: FleetNode, atMs: number): bigint =>
  BigInt(Math.round(other.bytes + (atMs - other.sinceMs) * other.bytesPerMs));

export const availableAt = (node: FleetNode, atMs: number): bigint =>
  availableBytes(node.disk, otherBytesAt(node, atMs) + node.layerBytes);

export const readingsAt = (node: FleetNode, atMs: number): FilesystemReadings =>
  readingsOf(node.disk.capacityBytes, availableAt(node, atMs));

/** A container wrote or went. */
export function addLayerBytes(node: FleetNode, bytes: bigint): void {
  node.layerBytes += bytes;
  node.watcher.diskChanged();
}

/** A time of the fleet as the node sees it. */
export const instantAt = (
  { bootId, bootedMs, clockOffsetMs }: NodeClockState,
  { epochMs }: Pick<Fleet, 'epochMs'>,
  atMs: number,
): Instant => ({
  wallTimeMs: epochMs + atMs + clockOffsetMs,
  bootId,
  sinceBootMs: atMs - bootedMs,
});

const NS_PER_MS = 1_000_000n;

export const stampAt = (node: FleetNode, { epochMs }: Pick<Fleet, 'epochMs'>, atMs: number): Stamp => ({
  fleetMs: atMs,
  wallNs: BigInt(Math.max(0, Math.round(epochMs + atMs + node.clockOffsetMs))) * NS_PER_MS,
});
