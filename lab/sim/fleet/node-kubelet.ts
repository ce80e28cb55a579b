import { sha256Hex } from '../../../packages/canonical/ids.ts';
import { uidOf } from '../kubelet.ts';
import {
  addContainer,
  addLayerBytes,
  addSandbox,
  availableAt,
  endContainers,
  endSandboxes,
  type Fleet,
  type FleetNode,
  type FleetPod,
  type FleetPodManifest,
  hold,
  isWithoutTrace,
  logDirectoryName,
  missingBytes,
  newFleetPod,
  readySandbox,
  stampAt,
} from './node.ts';

const PULLED_BYTES_PER_MS = 80_000;
const PULL_AGAIN_MS = 30_000;
const MOST_LAYER_BYTES = 30_000_000;

/** The kubelet knows a new pod and brings it to run, which takes as long as the pull of its image. */
export function admitPod(fleet: Fleet, node: FleetNode, manifest: FleetPodManifest): FleetPod {
  const pod = newFleetPod(`${node.identity.nodeInstance}/${node.podsMade++}`, manifest);
  node.pods.set(pod.uid, pod);
  bringUp(fleet, node, pod);
  return pod;
}

/** Runs its next container once its image is there: pulled where it is missing, and again where the disk has no room. */
export function bringUp(fleet: Fleet, node: FleetNode, pod: FleetPod): void {
  const { bootId } = node;
  const { time } = fleet;
  const isStillWanted = (): boolean => node.bootId === bootId && node.isUp && pod.listed?.finished === false;
  const start = (): void => {
    if (!isStillWanted() || pod.containers.some(({ finishedMs }) => finishedMs === null)) return;
    if (!hasImage(node, pod)) return;
    runContainer(fleet, node, pod);
  };
  const pulled = (): void => {
    if (!isStillWanted()) return;
    if (missingBytes(node.disk, pod.image) > availableAt(node, time.now())) {
      time.at(time.now() + PULL_AGAIN_MS, pulled);
      return;
    }
    hold(node.disk, pod.image, time.now());
    node.watcher.diskChanged();
    start();
  };
  if (hasImage(node, pod)) start();
  else time.at(time.now() + pullMs(node, pod), pulled);
}

const hasImage = ({ disk }: FleetNode, { image }: FleetPod): boolean => disk.images.has(image.id);

const pullMs = ({ disk }: FleetNode, { image }: FleetPod): number =>
  1_000 + Math.round(Number(missingBytes(disk, image)) / PULLED_BYTES_PER_MS);

function runContainer(fleet: Fleet, node: FleetNode, pod: FleetPod): void {
  const stamp = stampAt(node, fleet, fleet.time.now());
  const { id } = readySandbox(pod) ?? addSandbox(pod, stamp);
  const layerBytes = layerBytesOf(pod);
  addContainer(pod, id, stamp, layerBytes);
  addLayerBytes(node, layerBytes);
  node.watcher.listingChanged();
}

/** Follows from the container, so that the order in which things happen changes nothing. */
const layerBytesOf = ({ uid, containerAttempts }: FleetPod): bigint =>
  BigInt(
    Number.parseInt(sha256Hex(`layer ${containerAttempts} of ${uid}`).slice(0, 8), 16) % MOST_LAYER_BYTES,
  );

/** Its containers end, as in a crash. */
export function endPodContainers(fleet: Fleet, node: FleetNode, pod: FleetPod): void {
  for (const id of endContainers(pod, stampAt(node, fleet, fleet.time.now()))) node.watcher.containerDied(id);
  node.watcher.listingChanged();
}

/** The job is done; the kubelet knows the pod until somebody deletes it. */
export function finishPod(fleet: Fleet, node: FleetNode, pod: FleetPod): void {
  if (pod.listed === null) return;
  pod.listed = { ...pod.listed, phase: 'Succeeded', finished: true };
  endSandboxes(pod);
  endPodContainers(fleet, node, pod);
}

/** The kubelet stops and forgets it; what is left is for whoever collects. */
export function deletePod(fleet: Fleet, node: FleetNode, pod: FleetPod): void {
  pod.listed = null;
  endSandboxes(pod);
  endPodContainers(fleet, node, pod);
  forgetIfGone(node, pod);
}

export function forgetIfGone({ pods }: FleetNode, pod: FleetPod): void {
  if (isWithoutTrace(pod)) pods.delete(pod.uid);
}

/** The machine stops, and with it all that ran. */
export function powerOff(fleet: Fleet, node: FleetNode): void {
  node.isUp = false;
  const stamp = stampAt(node, fleet, fleet.time.now());
  for (const pod of node.pods.values()) {
    endContainers(pod, stamp);
    endSandboxes(pod);
  }
}

/** It boots with the clock that it has, and the kubelet starts its pods again. */
export function powerOn(fleet: Fleet, node: FleetNode, clockOffsetMs: number): void {
  const nowMs = fleet.time.now();
  node.bootId = uidOf(`boot at ${nowMs} of ${node.identity.nodeInstance}`);
  node.bootedMs = nowMs - BOOT_MS;
  node.clockOffsetMs = clockOffsetMs;
  node.isUp = true;
  node.kubeletProcesses += 1;
  for (const pod of node.pods.values()) if (pod.listed?.finished === false) bringUp(fleet, node, pod);
}

/** So long a kernel is up before the kubelet is. */
const BOOT_MS = 20_000;

export const POD_LOGS_DIR = '/var/log/pods';
/** Where the fleet's nodes have nothing: their kubelets make no flat symlinks. */
export const CONTAINER_LOGS_DIR = '/var/log/containers';

/** A directory as whoever removes logs opens it. */
export interface LogDirectory extends AsyncDisposable {
  readonly path: string;
  names(): Promise<readonly string[]>;
  lstat(name: string): Promise<{ isSymbolicLink(): boolean } | null>;
  stat(name: string): Promise<object | null>;
  unlink(name: string): Promise<void>;
  rmdir(name: string): Promise<void>;
  open(name: string): Promise<LogDirectory | null>;
}

/** Entries of a directory by name, and what becomes of them. */
interface Entries {
  readonly path: string;
  readonly names: () => readonly string[];
  readonly remove: (name: string) => void;
  readonly below: (name: string) => Entries | null;
}

/** The pods whose directory of logs is there, by its name. */
const podsWithLogs = ({ pods }: FleetNode): ReadonlyMap<string, FleetPod> =>
  new Map(
    [...pods.values()]
      .filter(({ podLogs }) => podLogs !== null)
      .map((pod) => [logDirectoryName(pod), pod] as const),
  );

export const podLogDirectories = (node: FleetNode): readonly string[] =>
  [...podsWithLogs(node).keys()].toSorted();

/** Opens a log directory of the node, in memory. `beforeRemoval` hears of a pod's directory while it is there yet. */
export function openPodLogDirectory(
  node: FleetNode,
  path: string,
  beforeRemoval: (name: string) => void,
): LogDirectory {
  return directoryOf(path === POD_LOGS_DIR ? rootOf(node, beforeRemoval) : emptyDirectory(path));
}

const emptyDirectory = (path: string): Entries => ({
  path,
  names: () => [],
  remove: () => {},
  below: () => null,
});

const rootOf = (node: FleetNode, beforeRemoval: (name: string) => void): Entries => ({
  path: POD_LOGS_DIR,
  names: () => podLogDirectories(node),
  remove: (name) => {
    const pod = podsWithLogs(node).get(name);
    if (pod === undefined) return;
    beforeRemoval(name);
    pod.podLogs = null;
    forgetIfGone(node, pod);
  },
  below: (name) => {
    const pod = podsWithLogs(node).get(name);
    return pod === undefined ? null : podDirectory(pod, `${POD_LOGS_DIR}/${name}`);
  },
});

/** One directory for its one container, as long as something is in it. */
const podDirectory = (pod: FleetPod, path: string): Entries => ({
  path,
  names: () => (pod.podLogs !== null && pod.podLogs.length > 0 ? ['app'] : []),
  remove: () => {},
  below: (name) => (name === 'app' ? filesOf(pod, `${path}/app`) : null),
});

const filesOf = (pod: FleetPod, path: string): Entries => ({
  path,
  names: () => [...(pod.podLogs ?? [])],
  remove: (name) => {
    pod.podLogs = pod.podLogs?.filter((log) => log !== name) ?? null;
  },
  below: () => null,
});

const directoryOf = (entries: Entries): LogDirectory => {
  const has = (name: string): boolean => entries.names().includes(name);
  return {
    path: entries.path,
    names: async () => entries.names(),
    lstat: async (name) => (has(name) ? { isSymbolicLink: () => false } : null),
    stat: async (name) => (has(name) ? {} : null),
    unlink: async (name) => entries.remove(name),
    rmdir: async (name) => entries.remove(name),
    open: async (name) => {
      const below = entries.below(name);
      return below && directoryOf(below);
    },
    [Symbol.asyncDispose]: async () => {},
  };
};
