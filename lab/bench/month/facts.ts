import { deriveId } from '../../../packages/canonical/ids.ts';
import { ACCEPTED_COMMAND_VERSIONS } from '../../../schemas/events/command.ts';
import type { DiskStats } from '../../../schemas/events/disk-stats.ts';
import type {
  CompleteInventory,
  InventoryContainer,
  InventoryImage,
  InventoryPod,
  InventorySandbox,
} from '../../../schemas/events/inventory.ts';
import type { InventoryPodLogDirectory } from '../../../schemas/events/pod-log-entries.ts';
import type { Reclaim } from '../../../schemas/events/reclaim.ts';
import { fold, NO_DISK_HISTORY } from '../../../services/node/agent/disks.ts';
import { type CataloguePiece, SANDBOX_IMAGE } from '../../sim/fleet/catalogue.ts';
import type { HeldImage } from '../../sim/fleet/node.ts';
import { instantOf, type NodeContainer, type NodePod, readings, type World } from './world.ts';

const SAMPLE_MS = 10_000;
const SAMPLES = 3;

/** What the agent says of the disks; its past is short, so that a month stays writable. */
export function diskStatsOf(world: World, atMs: number): DiskStats {
  const takenAt = instantOf(world, atMs);
  const filesystems = readings(world);
  let history = NO_DISK_HISTORY;
  for (let back = SAMPLES - 1; back >= 0; back -= 1)
    history = fold(history, filesystems, takenAt.sinceBootMs - back * SAMPLE_MS);
  return {
    type: 'fleetgc.node.disk-stats',
    version: 1,
    id: nextId(world, 'disk-stats'),
    ...world.identity,
    takenAt,
    nodeLabels: { ...world.nodeLabels },
    filesystems,
    history,
  };
}

/** What the agent says of everything, as an answer to an order or by itself. */
export function inventoryOf(world: World, atMs: number, reclaim: Reclaim | null): CompleteInventory {
  const pods = [...world.pods.values()];
  const pieces = piecesOf(world);
  const positions = new Map(pieces.map((piece, position) => [piece, position]));
  const users = usersOf(pods);
  return {
    type: 'fleetgc.node.inventory',
    version: 1,
    id: nextId(world, 'inventory'),
    ...world.identity,
    takenAt: instantOf(world, atMs),
    agentStartedAt: instantOf(world, world.bootedMs),
    trigger: reclaim === null ? 'interval' : 'order',
    reclaim,
    nodeLabels: { ...world.nodeLabels },
    commandVersions: [...ACCEPTED_COMMAND_VERSIONS],
    runtime: { name: 'containerd', version: '2.4.2' },
    filesystems: readings(world),
    status: 'complete',
    allSourcesReady: true,
    clockSteadySinceMs: world.bootedMs,
    containersWithoutImage: [],
    diedContainerIds: [],
    sandboxImageKnown: true,
    podImagesKnown: true,
    imagesWatchedSinceMs: world.bootedMs,
    images: [...world.images.values()].map((held) => imageOf(held, users, positions)),
    layers: pieces.map(({ listed }) => listed),
    containers: pods.flatMap((pod) => [...pod.containers.values()].map((one) => containerOf(pod, one))),
    sandboxes: pods.filter(({ hasSandbox }) => hasSandbox).map(sandboxOf),
    pods: pods.map(podOf),
    podLogDirectories: pods
      .filter(({ hasLogs }) => hasLogs)
      .map(logDirectoryOf)
      .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    logSymlinks: [],
  };
}

const nextId = (world: World, prefix: string): string => {
  world.made += 1;
  return deriveId(prefix, world.identity.nodeInstance, world.bootId, String(world.made));
};

/** Each once, however many images have it. */
const piecesOf = ({ images }: World): readonly CataloguePiece[] => [
  ...new Set([...images.values()].flatMap(({ image }) => image.content)),
];

type Users = ReadonlyMap<string, InventoryImage['usedBy']>;

function usersOf(pods: readonly NodePod[]): Users {
  const users = new Map<string, InventoryImage['usedBy']>();
  for (const pod of pods)
    for (const { id, image } of pod.containers.values())
      users.set(image.id, [...(users.get(image.id) ?? []), { kind: 'container', id }]);
  users.set(SANDBOX_IMAGE.id, [{ kind: 'sandbox-image', id: SANDBOX_IMAGE.reference }]);
  return users;
}

const imageOf = (
  { image, sinceMs, lastUsedMs }: HeldImage,
  users: Users,
  positions: ReadonlyMap<CataloguePiece, number>,
): InventoryImage => ({
  id: image.id,
  repoTags: [image.reference],
  repoDigests: [`${image.repository}@${image.digest}`],
  sizeBytes: Number(image.sizeBytes),
  pinned: image.id === SANDBOX_IMAGE.id,
  runtimeHandler: '',
  labels: { ...image.labels },
  firstDetectedMs: sinceMs,
  lastUsedMs,
  usedBy: [...(users.get(image.id) ?? [])],
  backoff: null,
  layers: image.content.flatMap((piece) => positions.get(piece) ?? []),
});

const containerOf = (
  { uid, name, namespace, sandboxId }: NodePod,
  { id, attempt, createdMs, finishedMs, image }: NodeContainer,
): InventoryContainer => ({
  id,
  name: 'app',
  attempt,
  pod: { uid, name, namespace },
  sandboxId,
  state: finishedMs === null ? 'running' : 'exited',
  createdAtNs: nanoseconds(createdMs),
  finishedAtNs: finishedMs === null ? null : nanoseconds(finishedMs),
  imageId: image.id,
  logPath: `/var/log/pods/${namespace}_${name}_${uid}/app/${attempt}.log`,
  backoff: null,
});

const sandboxOf = ({ uid, name, namespace, sandboxId, createdMs, isGone }: NodePod): InventorySandbox => ({
  id: sandboxId,
  attempt: 0,
  podUid: uid,
  pod: { uid, name, namespace },
  state: isGone ? 'notReady' : 'ready',
  createdAtNs: nanoseconds(createdMs),
  backoff: null,
});

const podOf = ({ uid, isGone }: NodePod): InventoryPod => ({
  uid,
  state: isGone ? 'gone' : 'known',
  contentRemovable: isGone,
  runtimeRemovable: isGone,
  initContainers: isGone ? null : [],
});

/** The directory of a pod's logs, by which an order names it too. */
export const logDirectoryName = ({ uid, name, namespace }: NodePod): string => `${namespace}_${name}_${uid}`;

const logDirectoryOf = (pod: NodePod): InventoryPodLogDirectory => ({
  name: logDirectoryName(pod),
  podUid: pod.uid,
  backoff: null,
});

const nanoseconds = (atMs: number): string => `${atMs}000000`;
