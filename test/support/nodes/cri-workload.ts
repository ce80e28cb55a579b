import { connect } from '../../../packages/cri/connection.ts';
import type { ContainerConfigWire, SandboxConfigWire } from '../../../packages/cri/messages.ts';
import { METHODS } from '../../../packages/cri/methods.ts';

/** Starting a container can mean unpacking an image first. */
const WORKLOAD_TIMEOUT_MS = 120_000;

/** A pod as the kubelet would ask the runtime for it. */
export interface PodSpec {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly attempt: number;
  /** Where its containers' logs go; empty for nowhere. */
  readonly logDirectory: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Whether its containers see each other's processes. */
  readonly sharesProcesses?: boolean;
}

export interface ContainerSpec {
  readonly name: string;
  readonly attempt: number;
  readonly image: string;
  readonly command: readonly string[];
  /** Relative to the pod's log directory. */
  readonly logPath: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Image volumes: where in the container, and which image. */
  readonly imageMounts: readonly { readonly containerPath: string; readonly image: string }[];
}

/** Plays the kubelet's part: pulls images and runs pods. For tests and load; no service of ours starts anything. */
export interface Workload extends Disposable {
  /** Resolves to the reference under which containers may name the image. */
  pullImage(reference: string): Promise<string>;
  runSandbox(pod: PodSpec): Promise<string>;
  createContainer(sandboxId: string, pod: PodSpec, container: ContainerSpec): Promise<string>;
  startContainer(id: string): Promise<void>;
}

/** The labels by which the kubelet knows its own sandboxes. */
export const kubeletLabels = (pod: Pick<PodSpec, 'uid' | 'name' | 'namespace'>): Record<string, string> => ({
  'io.kubernetes.pod.name': pod.name,
  'io.kubernetes.pod.namespace': pod.namespace,
  'io.kubernetes.pod.uid': pod.uid,
});

export function connectWorkload(endpoint: string): Workload {
  const connection = connect(endpoint);
  const { call } = connection;
  return {
    pullImage: async (reference) => {
      const { imageRef } = await call(
        METHODS.pullImage,
        { image: imageSpec(reference) },
        WORKLOAD_TIMEOUT_MS,
      );
      return imageRef;
    },
    runSandbox: async (pod) => {
      const request = { config: sandboxConfig(pod), runtimeHandler: '' };
      return (await call(METHODS.runPodSandbox, request, WORKLOAD_TIMEOUT_MS)).podSandboxId;
    },
    createContainer: async (podSandboxId, pod, container) => {
      const request = { podSandboxId, config: containerConfig(container), sandboxConfig: sandboxConfig(pod) };
      return (await call(METHODS.createContainer, request, WORKLOAD_TIMEOUT_MS)).containerId;
    },
    startContainer: async (containerId) => {
      await call(METHODS.startContainer, { containerId }, WORKLOAD_TIMEOUT_MS);
    },
    [Symbol.dispose]: () => connection[Symbol.dispose](),
  };
}

/** A kubelet that names the image by its id says beside it how its pod names it, which is never an id. */
const imageSpec = (image: string) => ({
  image,
  userSpecifiedImage: IMAGE_ID.test(image) ? '' : image,
  runtimeHandler: '',
  imageRef: '',
});

const IMAGE_ID = /^(sha256:)?[0-9a-f]{64}$/;

/** The host's network needs no network plugin on the node; the rest is as a kubelet has it by default. */
const linuxOf = (pid: 'POD' | 'CONTAINER'): SandboxConfigWire['linux'] => ({
  securityContext: { namespaceOptions: { network: 'NODE', pid, ipc: 'POD' } },
});

const sandboxConfig = (pod: PodSpec): SandboxConfigWire => ({
  metadata: { name: pod.name, uid: pod.uid, namespace: pod.namespace, attempt: pod.attempt },
  hostname: '',
  logDirectory: pod.logDirectory,
  labels: { ...pod.labels },
  annotations: {},
  linux: linuxOf(pod.sharesProcesses ? 'POD' : 'CONTAINER'),
});

const containerConfig = (container: ContainerSpec): ContainerConfigWire => ({
  metadata: { name: container.name, attempt: container.attempt },
  image: imageSpec(container.image),
  command: [...container.command],
  args: [],
  mounts: container.imageMounts.map(({ containerPath, image }) => ({
    containerPath,
    hostPath: '',
    readonly: true,
    image: imageSpec(image),
  })),
  labels: { ...container.labels },
  annotations: {},
  logPath: container.logPath,
  linux: linuxOf('CONTAINER'),
});
