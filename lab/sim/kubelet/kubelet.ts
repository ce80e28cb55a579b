import type { KubeletPod, PodListing, PodSource } from '../../../packages/cri/kubelet/pod-source.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import {
  type KubeletParts,
  removeRemains,
  runningContainers,
  startContainers,
  stopContainers,
} from './kubelet-containers.ts';
import { newPod, type Pod, type PodManifest, podAsListed, uidOf } from './kubelet-pod.ts';

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
