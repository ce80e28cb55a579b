import { join } from 'node:path';
import { FleetGcError } from '../shared/errors.ts';
import { sha256Hex } from '../shared/ids.ts';
import type { KubeletPod, PodListing, PodSource } from '../shared/pod-source.ts';
import type { Faults } from './faults.ts';
import { type LogDirectories, linkLog } from './logs.ts';
import type { SimulatedRuntime } from './runtime.ts';

/** A pod that somebody wants to run. */
export interface PodWish {
  readonly name: string;
  readonly namespace: string;
  /** Container name to image reference. */
  readonly containers: Readonly<Record<string, string>>;
  /** Where it comes from: the API server, or a file as on a standalone node. */
  readonly source?: 'api' | 'file';
}

/** Plays the kubelet: runs pods on the runtime, restarts them, and knows which there are. */
export interface SimulatedKubelet extends PodSource {
  /** Knows the pod, pulls what is missing, and runs its containers. Resolves to the pod's UID. */
  startPod(wish: PodWish): Promise<string>;
  /** Knows the pod but has not come to its containers yet. */
  admitPod(wish: PodWish): string;
  /** Ends the running containers of the pod, as a crash does. */
  crashPod(uid: string): void;
  /** Creates and starts the next attempt of every container of the pod that is not running. */
  restartContainers(uid: string): Promise<void>;
  /** All its containers end for good; the pod stays known. */
  finishPod(uid: string): void;
  /** Stops the pod and forgets it; its containers and sandbox stay behind for whoever collects them. */
  deletePod(uid: string): void;
  /** Another process: what was told before does not count any more. */
  restart(): void;
  readonly pods: ReadonlyMap<string, KubeletPod>;
}

interface Pod extends KubeletPod {
  readonly wish: PodWish;
  sandboxId: string;
  attempts: number;
  phase: 'Pending' | 'Running' | 'Succeeded';
  finished: boolean;
}

export interface KubeletParts {
  readonly nodeName: string;
  readonly runtime: SimulatedRuntime;
  readonly faults: Faults;
  readonly logs: LogDirectories;
}

export function createKubelet(parts: KubeletParts): SimulatedKubelet {
  const pods = new Map<string, Pod>();
  const { runtime } = parts;
  let processes = 1;
  let admitted = 0;
  const admitPod = (wish: PodWish) => {
    admitted += 1;
    const pod = newPod(uidOf(`${parts.nodeName}/${admitted}`), wish);
    pods.set(pod.uid, pod);
    return pod.uid;
  };
  return {
    pods,
    admitPod,
    startPod: async (wish) => {
      const pod = known(pods, admitPod(wish));
      for (const image of pod.images) if (!runtime.findImage(image)) await runtime.pullImage(image);
      pod.sandboxId = runtime.runSandbox(sandboxOf(parts.logs, pod));
      await startContainers(parts, pod);
      return pod.uid;
    },
    crashPod: (uid) => stopContainers(runtime, known(pods, uid)),
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
    pods: [...pods.values()].map(({ wish: _, sandboxId: __, attempts: ___, ...pod }) => pod),
  };
}

const newPod = (uid: string, wish: PodWish): Pod => ({
  uid,
  wish,
  name: wish.name,
  namespace: wish.namespace,
  images: Object.values(wish.containers),
  source: wish.source ?? 'api',
  deletionTimestamp: false,
  phase: 'Pending',
  finished: false,
  sandboxId: '',
  attempts: 0,
});

const podLabels = ({ uid, name, namespace }: KubeletPod) => ({
  'io.kubernetes.pod.name': name,
  'io.kubernetes.pod.namespace': namespace,
  'io.kubernetes.pod.uid': uid,
});

const sandboxOf = ({ podLogsDir }: LogDirectories, pod: Pod) => ({
  metadata: { name: pod.name, uid: pod.uid, namespace: pod.namespace, attempt: 0 },
  logDirectory: join(podLogsDir, `${pod.namespace}_${pod.name}_${pod.uid}`),
  labels: podLabels(pod),
  annotations: { 'kubernetes.io/config.source': pod.source },
});

async function startContainers({ runtime, logs }: KubeletParts, pod: Pod): Promise<void> {
  const running = containersOf(runtime, pod).filter(({ state }) => state === 'running');
  for (const [name, image] of Object.entries(pod.wish.containers)) {
    if (running.some((container) => container.name === name)) continue;
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
    await runtime.startContainer(id);
    await linkLog(logs, runtime.container(id));
  }
  pod.phase = 'Running';
}

function stopContainers(runtime: SimulatedRuntime, pod: Pod): void {
  for (const { id } of containersOf(runtime, pod)) runtime.stopContainer(id);
}

const containersOf = (runtime: SimulatedRuntime, { sandboxId }: Pod) =>
  [...runtime.containers.values()].filter((container) => container.sandboxId === sandboxId);

function known(pods: ReadonlyMap<string, Pod>, uid: string): Pod {
  const pod = pods.get(uid);
  if (pod) return pod;
  throw new FleetGcError('NOT_FOUND', `there is no pod ${uid}`);
}

/** A UUID that follows from the text. */
function uidOf(text: string): string {
  const hex = sha256Hex(text);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
