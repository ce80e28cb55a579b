import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256Hex } from '../../packages/canonical/ids.ts';
import type { KubeletPod, PodListing, PodSource } from '../../packages/cri/kubelet/pod-source.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import type { Faults } from './runtime/faults.ts';
import {
  linkContainerLog,
  type PodLogRoots,
  type SimulatedRuntime,
  unlinkContainerLog,
} from './runtime/runtime.ts';

/** Plays the kubelet: runs pods on the runtime, restarts them, and knows which there are. */
export interface SimulatedKubelet extends PodSource {
  /** Knows the pod, pulls what is missing, and runs its containers. Resolves to the pod's UID. */
  startPod(manifest: PodManifest): Promise<string>;
  /** Knows the pod but has not come to its containers yet. */
  admitPod(manifest: PodManifest): string;
  /** Ends the running containers of the pod, as a crash does. */
  crashPod(uid: string): void;
  /** Whether one of its containers does not run. */
  hasStopped(uid: string): boolean;
  /** Creates and starts the next attempt of every container of the pod that is not running. */
  restartContainers(uid: string): Promise<void>;
  /** All its containers end for good; the pod stays known. */
  finishPod(uid: string): void;
  /** Stops the pod and forgets it; its containers and sandbox stay behind for whoever collects them. */
  deletePod(uid: string): void;
  /** Stops the pod, forgets it, and collects its containers, sandboxes and logs itself. */
  cleanUpPod(uid: string): Promise<void>;
  /** Another process: what was told before does not count any more. */
  restart(): void;
  readonly pods: ReadonlyMap<string, KubeletPod>;
}

export function createKubelet(parts: KubeletParts): SimulatedKubelet {
  const pods = new Map<string, Pod>();
  const { runtime } = parts;
  let processes = 1;
  let admitted = 0;
  const admitPod = (manifest: PodManifest) => {
    admitted += 1;
    const pod = newPod(uidOf(`${parts.nodeName}/${admitted}`), manifest);
    pods.set(pod.uid, pod);
    return pod.uid;
  };
  return {
    pods,
    admitPod,
    startPod: async (manifest) => {
      const pod = known(pods, admitPod(manifest));
      await startContainers(parts, pod);
      return pod.uid;
    },
    crashPod: (uid) => stopContainers(runtime, known(pods, uid)),
    hasStopped: (uid) => {
      const pod = known(pods, uid);
      return runningContainers(runtime, pod).length < pod.images.length;
    },
    restartContainers: async (uid) => {
      const pod = known(pods, uid);
      pod.attempts += 1;
      await startContainers(parts, pod);
    },
    finishPod: (uid) => {
      const pod = known(pods, uid);
      runtime.stopSandbox(pod.sandboxId);
      pod.phase = 'Succeeded';
      pod.finished = true;
    },
    deletePod: (uid) => {
      runtime.stopSandbox(known(pods, uid).sandboxId);
      pods.delete(uid);
    },
    cleanUpPod: async (uid) => {
      const pod = known(pods, uid);
      pods.delete(uid);
      await removeRemains(parts, pod);
    },
    restart: () => {
      processes += 1;
    },
    list: async () => podListing(parts, pods, processes),
  };
}

function podListing(
  { faults, nodeName }: KubeletParts,
  pods: ReadonlyMap<string, Pod>,
  processes: number,
): PodListing {
  if (faults.podsUnreadable)
    throw new FleetGcError('PODS_UNREADABLE', `the kubelet of ${nodeName} does not answer /pods`);
  return {
    kubeletInstance: `${nodeName}-${processes}`,
    pods: [...pods.values()].map(podAsListed),
  };
}

function known(pods: ReadonlyMap<string, Pod>, uid: string): Pod {
  const pod = pods.get(uid);
  if (pod) return pod;
  throw new FleetGcError('NOT_FOUND', `there is no pod ${uid}`);
}

/** A pod that somebody wants to run. */
export interface PodManifest {
  readonly name: string;
  readonly namespace: string;
  /** Container name to image reference. */
  readonly containers: Readonly<Record<string, string>>;
  /** Names among `containers` that are init containers. */
  readonly initContainers?: readonly string[];
  /** Where it comes from: the API server, or a file as on a standalone node. */
  readonly source?: 'api' | 'file';
}

/** A pod with what the kubelet keeps to itself. */
interface Pod extends KubeletPod {
  readonly manifest: PodManifest;
  sandboxId: string;
  sandboxes: number;
  attempts: number;
  phase: 'Pending' | 'Running' | 'Succeeded';
  finished: boolean;
}

const newPod = (uid: string, manifest: PodManifest): Pod => ({
  uid,
  manifest,
  name: manifest.name,
  namespace: manifest.namespace,
  images: Object.values(manifest.containers),
  initContainers: manifest.initContainers ?? [],
  source: manifest.source ?? 'api',
  deletionTimestamp: false,
  phase: 'Pending',
  finished: false,
  evicted: false,
  sandboxId: '',
  sandboxes: 0,
  attempts: 0,
});

/** As `/pods` tells it. */
const podAsListed = ({
  uid,
  name,
  namespace,
  phase,
  deletionTimestamp,
  source,
  images,
  initContainers,
  finished,
  evicted,
}: Pod): KubeletPod => ({
  uid,
  name,
  namespace,
  phase,
  deletionTimestamp,
  source,
  images,
  initContainers,
  finished,
  evicted,
});

/** A UUID that follows from the text. */
export function uidOf(text: string): string {
  const hex = sha256Hex(text);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

interface KubeletParts {
  readonly nodeName: string;
  readonly runtime: SimulatedRuntime;
  readonly faults: Faults;
  readonly podLogs: PodLogRoots;
}

const podLabels = ({ uid, name, namespace }: KubeletPod) => ({
  'io.kubernetes.pod.name': name,
  'io.kubernetes.pod.namespace': namespace,
  'io.kubernetes.pod.uid': uid,
});

const logDirectoryOf = ({ podLogsDir }: PodLogRoots, { namespace, name, uid }: Pod): string =>
  join(podLogsDir, `${namespace}_${name}_${uid}`);

const sandboxOf = (podLogs: PodLogRoots, pod: Pod) => ({
  metadata: { name: pod.name, uid: pod.uid, namespace: pod.namespace, attempt: pod.sandboxes },
  logDirectory: logDirectoryOf(podLogs, pod),
  labels: podLabels(pod),
  annotations: { 'kubernetes.io/config.source': pod.source },
});

/** As a kubelet does: what is missing is pulled, a sandbox that is not ready is followed by another. */
async function startContainers(parts: KubeletParts, pod: Pod): Promise<void> {
  const { runtime } = parts;
  for (const image of pod.images) if (!runtime.findImage(image)) await runtime.pullImage(image);
  if (runtime.sandboxes.get(pod.sandboxId)?.state !== 'ready') {
    pod.sandboxId = runtime.runSandbox(sandboxOf(parts.podLogs, pod));
    pod.sandboxes += 1;
  }
  const running = runningContainers(runtime, pod).map(({ name }) => name);
  for (const [name, image] of Object.entries(pod.manifest.containers))
    if (!running.includes(name)) await startContainer(parts, pod, { name, image });
  pod.phase = 'Running';
}

async function startContainer(
  { runtime, podLogs }: KubeletParts,
  pod: Pod,
  { name, image }: { readonly name: string; readonly image: string },
): Promise<void> {
  const id = runtime.createContainer({
    sandboxId: pod.sandboxId,
    name,
    attempt: pod.attempts,
    image: runtime.findImage(image)?.id ?? image,
    userSpecifiedImage: image,
    mountedImages: [],
    labels: { ...podLabels(pod), 'io.kubernetes.container.name': name },
    annotations: {},
    logPath: `${name}/${pod.attempts}.log`,
  });
  await linkContainerLog(podLogs, runtime.container(id));
  await runtime.startContainer(id);
}

/** What a pod leaves behind: its sandboxes with their containers, and its logs with the symlinks to them. */
async function removeRemains({ runtime, podLogs }: KubeletParts, pod: Pod): Promise<void> {
  const sandboxes = [...runtime.sandboxes.values()].filter(({ metadata }) => metadata.uid === pod.uid);
  const ids = new Set(sandboxes.map(({ id }) => id));
  const containers = [...runtime.containers.values()].filter(({ sandboxId }) => ids.has(sandboxId));
  for (const id of ids) {
    runtime.stopSandbox(id);
    runtime.removeSandbox(id);
  }
  for (const container of containers) await unlinkContainerLog(podLogs, container);
  await rm(logDirectoryOf(podLogs, pod), { recursive: true, force: true });
}

function stopContainers(runtime: SimulatedRuntime, pod: Pod): void {
  for (const { id } of runningContainers(runtime, pod)) runtime.stopContainer(id);
}

const runningContainers = (runtime: SimulatedRuntime, { sandboxId }: Pod) =>
  [...runtime.containers.values()].filter(
    (container) => container.sandboxId === sandboxId && container.state === 'running',
  );
