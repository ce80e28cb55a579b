import type {
  RuntimeContainerEvent,
  RuntimeContainerStatus,
  RuntimeReader,
  RuntimeRemover,
} from '../../../packages/cri/port.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { SANDBOX_IMAGE } from './catalogue.ts';
import {
  addLayerBytes,
  drop,
  endSandboxes,
  type FleetContainer,
  type FleetNode,
  type FleetPod,
  logDirectoryName,
} from './node.ts';
import { forgetIfGone, POD_LOGS_DIR } from './node-kubelet.ts';

export type RemovedKind = 'image' | 'container' | 'sandbox' | 'pod-log-directory';

/** Something that a node's executor takes away now: told before it is gone. */
export interface Removal {
  readonly kind: RemovedKind | 'stopped-sandbox' | 'stopped-container';
  readonly id: string;
}

export interface RuntimeParts {
  readonly node: FleetNode;
  /** Judges a removal while what goes is there yet. */
  readonly beforeRemoval: (removal: Removal) => void;
  /** Resolves when the call may have its effect, or rejects where it is to fail. */
  readonly admit: (removal: Removal) => Promise<void>;
  /** Resolves when the call is to be answered. */
  readonly answer: (removal: Removal) => Promise<void>;
  /** Deaths of containers, until the signal aborts. */
  readonly events: (signal: AbortSignal) => AsyncIterable<RuntimeContainerEvent>;
}

/** The container runtime of a node of the fleet: answers at once and from the truth, without a socket. */
export function nodeRuntime(parts: RuntimeParts): RuntimeReader & RuntimeRemover {
  const { node } = parts;
  const remove = async (removal: Removal, effect: () => void): Promise<void> => {
    await parts.admit(removal);
    parts.beforeRemoval(removal);
    effect();
    await parts.answer(removal);
  };
  return {
    version: async () => ({ name: 'containerd', version: '2.4.2', apiVersion: 'v1' }),
    status: async () => ({ runtimeReady: true, sandboxImage: SANDBOX_IMAGE.reference }),
    listImages: async () => [...node.disk.images.values()].map(({ image }) => image.listed),
    listContainers: async () => containersOf(node).map(({ listed }) => listed),
    listSandboxes: async () => [...node.pods.values()].flatMap(({ sandboxes }) => sandboxes),
    containerStatus: async (id) => statusOf(found(node, id)),
    sandboxStatus: async (id) => ({
      id,
      state: sandboxOf(node, id).sandbox.state,
      image: SANDBOX_IMAGE.reference,
    }),
    imageLabels: async (id) => node.disk.images.get(id)?.image.labels ?? null,
    imageFilesystems: async () => ({ image: [], container: [] }),
    containerEvents: (signal) => parts.events(signal),
    removeImage: async (id) => {
      if (node.disk.images.has(id))
        await remove({ kind: 'image', id }, () => {
          drop(node.disk, id);
          node.watcher.diskChanged();
          node.watcher.listingChanged();
        });
    },
    removeContainer: async (id) => {
      if (containersOf(node).some((container) => container.id === id))
        await remove({ kind: 'container', id }, () => takeContainer(node, id));
    },
    stopContainer: async (id) => {
      if (found(node, id).container.finishedMs === null)
        parts.beforeRemoval({ kind: 'stopped-container', id });
    },
    stopSandbox: async (id) => {
      const { pod, sandbox } = sandboxOf(node, id);
      if (sandbox.state !== 'ready') return;
      parts.beforeRemoval({ kind: 'stopped-sandbox', id });
      endSandboxes(pod);
    },
    removeSandbox: async (id) => {
      const { pod } = sandboxOf(node, id);
      await remove({ kind: 'sandbox', id }, () => {
        pod.sandboxes.splice(
          pod.sandboxes.findIndex((sandbox) => sandbox.id === id),
          1,
        );
        forgetIfGone(node, pod);
        node.watcher.listingChanged();
      });
    },
  };
}

export const containersOf = ({ pods }: FleetNode): FleetContainer[] =>
  [...pods.values()].flatMap(({ containers }) => containers);

interface FoundContainer {
  readonly pod: FleetPod;
  readonly container: FleetContainer;
}

function found(node: FleetNode, id: string): FoundContainer {
  for (const pod of node.pods.values()) {
    const container = pod.containers.find((one) => one.id === id);
    if (container !== undefined) return { pod, container };
  }
  throw notFound(`container ${id}`);
}

function sandboxOf(node: FleetNode, id: string) {
  for (const pod of node.pods.values()) {
    const sandbox = pod.sandboxes.find((one) => one.id === id);
    if (sandbox !== undefined) return { pod, sandbox };
  }
  throw notFound(`sandbox ${id}`);
}

const notFound = (what: string): FleetGcError =>
  new FleetGcError('RUNTIME_NOT_FOUND', `there is no ${what} on this node`);

function takeContainer(node: FleetNode, id: string): void {
  const { pod, container } = found(node, id);
  pod.containers.splice(pod.containers.indexOf(container), 1);
  addLayerBytes(node, -container.layerBytes);
  forgetIfGone(node, pod);
  node.watcher.listingChanged();
}

function statusOf({ pod, container }: FoundContainer): RuntimeContainerStatus {
  const { listed, finishedAtNs, attempt } = container;
  return {
    id: listed.id,
    state: listed.state,
    createdAtNs: listed.createdAtNs,
    startedAtNs: listed.createdAtNs,
    finishedAtNs,
    imageRef: listed.imageRef,
    imageId: listed.imageId,
    logPath: `${POD_LOGS_DIR}/${logDirectoryName(pod)}/app/${attempt}.log`,
    annotations: listed.annotations,
    mountedImages: [],
  };
}
