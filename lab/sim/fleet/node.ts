import { sha256Hex } from '../../../packages/canonical/ids.ts';
import type { LayerTable } from '../../../packages/cri/containerd/image-layers.ts';
import type { KubeletPod } from '../../../packages/cri/kubelet/pod-source.ts';
import type { RuntimeContainer, RuntimeContainerState, RuntimeSandbox } from '../../../packages/cri/port.ts';
import { DAY_MS, HOUR_MS } from '../../../packages/process/durations.ts';
import type { FilesystemReading, FilesystemReadings } from '../../../schemas/events/filesystem.ts';
import type { NodeIdentity } from '../../../schemas/events/identity.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import { POOL_LABEL } from '../../../schemas/policy/policy-selection.ts';
import { uidOf } from '../kubelet.ts';
import { evenChoice, type Random, seededRandom } from '../random.ts';
import { type Application, applicationName, applicationNamespace } from '../runtime/objects.ts';
import { type Catalogue, type CatalogueImage, type CataloguePiece, SANDBOX_IMAGE } from './catalogue.ts';
import type { FleetTime } from './fleet-time.ts';

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

const POOLS = ['web', 'batch', 'ml'] as const;
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

const otherBytesAt = ({ other }: FleetNode, atMs: number): bigint =>
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

/** What a pod is to do. */
export type PodKind = 'service' | 'crashing' | 'job';

export interface FleetContainer {
  readonly id: string;
  readonly attempt: number;
  readonly image: CatalogueImage;
  /** By the time of the fleet, which nobody can set. */
  readonly createdMs: number;
  /** What it wrote beside its image. */
  readonly layerBytes: bigint;
  /** As the runtime lists it; another object when its state changes. */
  listed: RuntimeContainer;
  /** By the time of the fleet; `null` while it runs. */
  finishedMs: number | null;
  /** By the clock of the node. */
  finishedAtNs: bigint;
}

/** A pod on a node, known to the kubelet or left behind, with one container at a time. */
export interface FleetPod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly kind: PodKind;
  readonly application: Application;
  readonly image: CatalogueImage;
  readonly labels: Readonly<Record<string, string>>;
  readonly containers: FleetContainer[];
  readonly sandboxes: RuntimeSandbox[];
  /** Names in its directory of logs; `null` once the directory is gone. */
  podLogs: string[] | null;
  /** As the kubelet tells it; `null` once it forgot it. */
  listed: KubeletPod | null;
  containerAttempts: number;
  sandboxAttempts: number;
}

export interface FleetPodManifest {
  readonly kind: PodKind;
  readonly application: Application;
  readonly image: CatalogueImage;
}

const CONTAINER_NAME = 'app';

/** `unique` tells it from every other pod of the fleet. */
export function newFleetPod(unique: string, { kind, application, image }: FleetPodManifest): FleetPod {
  const uid = uidOf(unique);
  const name = `${applicationName(application)}-${uid.slice(0, 8)}`;
  const namespace = applicationNamespace(application);
  return {
    uid,
    name,
    namespace,
    kind,
    application,
    image,
    labels: {
      'io.kubernetes.pod.name': name,
      'io.kubernetes.pod.namespace': namespace,
      'io.kubernetes.pod.uid': uid,
      'io.kubernetes.container.name': CONTAINER_NAME,
    },
    containers: [],
    sandboxes: [],
    podLogs: [],
    listed: listedPod({ uid, name, namespace, images: [image.reference] }),
    containerAttempts: 0,
    sandboxAttempts: 0,
  };
}

const listedPod = (pod: Pick<KubeletPod, 'uid' | 'name' | 'namespace' | 'images'>): KubeletPod => ({
  ...pod,
  phase: 'Running',
  deletionTimestamp: false,
  source: 'api',
  initContainers: [],
  finished: false,
  evicted: false,
});

/** When something was made: by the time of the fleet, and by the clock of the node. */
interface Stamp {
  readonly fleetMs: number;
  readonly wallNs: bigint;
}

export function addSandbox(pod: FleetPod, { wallNs }: Stamp): RuntimeSandbox {
  const attempt = pod.sandboxAttempts++;
  const sandbox: RuntimeSandbox = {
    id: sha256Hex(`sandbox ${attempt} of ${pod.uid}`),
    podUid: pod.uid,
    podName: pod.name,
    podNamespace: pod.namespace,
    attempt,
    state: 'ready',
    createdAtNs: wallNs,
    labels: pod.labels,
    annotations: NONE,
  };
  pod.sandboxes.push(sandbox);
  return sandbox;
}

const NONE = {};

export function addContainer(
  pod: FleetPod,
  sandboxId: string,
  { fleetMs, wallNs }: Stamp,
  layerBytes: bigint,
): FleetContainer {
  const attempt = pod.containerAttempts++;
  const id = sha256Hex(`container ${attempt} of ${pod.uid}`);
  const { image, labels } = pod;
  const listed: RuntimeContainer = {
    id,
    sandboxId,
    name: CONTAINER_NAME,
    attempt,
    state: 'running',
    createdAtNs: wallNs,
    image: image.spec,
    imageRef: image.id,
    imageId: image.id,
    labels,
    annotations: NONE,
  };
  const rest = { createdMs: fleetMs, layerBytes, listed, finishedMs: null, finishedAtNs: 0n };
  const container: FleetContainer = { id, attempt, image, ...rest };
  pod.containers.push(container);
  pod.podLogs?.push(`${attempt}.log`);
  return container;
}

const withState = (listed: RuntimeContainer, state: RuntimeContainerState): RuntimeContainer => ({
  ...listed,
  state,
});

/** Ends what runs of it. Returns the ids of the containers that ended. */
export function endContainers(pod: FleetPod, { fleetMs, wallNs }: Stamp): readonly string[] {
  const running = pod.containers.filter(({ finishedMs }) => finishedMs === null);
  for (const container of running) {
    container.finishedMs = fleetMs;
    container.finishedAtNs = wallNs;
    container.listed = withState(container.listed, 'exited');
  }
  return running.map(({ id }) => id);
}

/** Its sandboxes are not ready any more. */
export function endSandboxes(pod: FleetPod): void {
  for (const [index, sandbox] of pod.sandboxes.entries())
    if (sandbox.state === 'ready') pod.sandboxes[index] = { ...sandbox, state: 'notReady' };
}

export const readySandbox = ({ sandboxes }: FleetPod): RuntimeSandbox | undefined =>
  sandboxes.find(({ state }) => state === 'ready');

/** `<namespace>_<name>_<uid>`, as the kubelet calls its directory of logs. */
export const logDirectoryName = ({
  namespace,
  name,
  uid,
}: Pick<FleetPod, 'namespace' | 'name' | 'uid'>): string => `${namespace}_${name}_${uid}`;

/** Nothing is left of it anywhere. */
export const isWithoutTrace = ({ listed, containers, sandboxes, podLogs }: FleetPod): boolean =>
  listed === null && containers.length === 0 && sandboxes.length === 0 && podLogs === null;

export interface HeldImage {
  readonly image: CatalogueImage;
  readonly sinceMs: number;
  lastUsedMs: number | null;
}

/** The images of a node on its one disk: what several have in common lies there once. */
export interface ImageDisk {
  readonly capacityBytes: bigint;
  /** By id. */
  readonly images: Map<string, HeldImage>;
  /** How many images have a piece. */
  readonly holders: Map<CataloguePiece, number>;
  /** What their pieces take, each once. */
  imageBytes: bigint;
}

export const emptyImageDisk = (capacityBytes: bigint): ImageDisk => ({
  capacityBytes,
  images: new Map(),
  holders: new Map(),
  imageBytes: 0n,
});

/** The image is there; pulled now, unless it was. */
export function hold(disk: ImageDisk, image: CatalogueImage, atMs: number): HeldImage {
  const known = disk.images.get(image.id);
  if (known !== undefined) return known;
  const held = { image, sinceMs: atMs, lastUsedMs: null };
  disk.images.set(image.id, held);
  for (const piece of image.content) if (addHolder(disk, piece, 1) === 1) disk.imageBytes += piece.sizeBytes;
  return held;
}

/** The image goes, and with it what no other has. Returns whether it was there. */
export function drop(disk: ImageDisk, id: string): boolean {
  for (const piece of disk.images.get(id)?.image.content ?? [])
    if (addHolder(disk, piece, -1) === 0) disk.imageBytes -= piece.sizeBytes;
  return disk.images.delete(id);
}

/** What a pull would add. */
export const missingBytes = ({ holders }: ImageDisk, { content }: CatalogueImage): bigint =>
  content.reduce((sum, piece) => (holders.has(piece) ? sum : sum + piece.sizeBytes), 0n);

function addHolder({ holders }: ImageDisk, piece: CataloguePiece, change: 1 | -1): number {
  const count = (holders.get(piece) ?? 0) + change;
  if (count === 0) holders.delete(piece);
  else holders.set(piece, count);
  return count;
}

export function availableBytes(
  { capacityBytes, imageBytes }: Pick<ImageDisk, 'capacityBytes' | 'imageBytes'>,
  otherBytes: bigint,
): bigint {
  const used = otherBytes + imageBytes;
  return used < capacityBytes ? capacityBytes - used : 0n;
}

/** As mke2fs reckons, and what a file takes on the average. */
const BYTES_PER_INODE = 16_384n;
const BYTES_PER_FILE = 32_768n;

/** One disk for everything. */
export function readingsOf(capacityBytes: bigint, available: bigint): FilesystemReadings {
  const inodes = capacityBytes / BYTES_PER_INODE;
  const reading: FilesystemReading = {
    mountpoint: '/var/lib',
    device: '259:1',
    capacityBytes: String(capacityBytes),
    availableBytes: String(available),
    inodes: String(inodes),
    inodesFree: String(inodes - (capacityBytes - available) / BYTES_PER_FILE),
  };
  return { nodefs: reading, imagefs: reading, containerfs: reading };
}

/** The layers of the images of a node; those of one image together. */
export function layerTable(disk: Pick<ImageDisk, 'images'>): LayerTable {
  const positions = new Map<CataloguePiece, number>();
  const ofImage = new Map<string, readonly number[]>();
  for (const { image } of disk.images.values()) {
    for (const piece of image.content) if (!positions.has(piece)) positions.set(piece, positions.size);
    ofImage.set(
      image.id,
      image.content.map((piece) => positions.get(piece) ?? 0).sort((a, b) => a - b),
    );
  }
  return { layers: [...positions.keys()].map(({ listed }) => listed), ofImage };
}
