import type { z } from 'zod';
import { FleetGcError } from '../process/errors.ts';
import { type Connection, connect } from './connection.ts';
import {
  runtimeContainer,
  runtimeContainerStatus,
  runtimeFilesystem,
  runtimeImage,
  runtimeSandbox,
  sandboxState,
  verboseImageLabels,
  verboseImageOfSandbox,
  verboseSandboxImage,
} from './from-messages.ts';
import type { ContainerEventKindWire } from './messages.ts';
import { METHODS } from './methods.ts';
import type {
  ImageLabels,
  RuntimeContainerEvent,
  RuntimeReader,
  RuntimeRemover,
  RuntimeVersion,
} from './port.ts';

/** How long a call may take, in milliseconds. */
export interface CallTimeouts {
  readonly readMs: number;
  readonly removeImageMs: number;
  /** Containers and sandboxes; the runtime's own grace period comes on top. */
  readonly removeMs: number;
}

/** `removeMs` is the kubelet's own timeout for runtime requests. */
export const CALL_TIMEOUTS: CallTimeouts = { readMs: 10_000, removeImageMs: 600_000, removeMs: 120_000 };

/** Reads a runtime. `endpoint` is `unix:///path` or an absolute path; nothing is contacted before the first call. */
export function connectReader(endpoint: string, timeouts = CALL_TIMEOUTS): RuntimeReader & Disposable {
  const connection = connect(endpoint);
  return { ...readerOver(connection, timeouts), [Symbol.dispose]: () => connection[Symbol.dispose]() };
}

/** Reads a runtime and removes from it. */
export function connectRemover(
  endpoint: string,
  timeouts = CALL_TIMEOUTS,
): RuntimeReader & RuntimeRemover & Disposable {
  const connection = connect(endpoint);
  return {
    ...readerOver(connection, timeouts),
    ...removerOver(connection, timeouts),
    [Symbol.dispose]: () => connection[Symbol.dispose](),
  };
}

/** The same over a connection that is there. */
export function readerOver(connection: Connection, { readMs }: CallTimeouts): RuntimeReader {
  const { call } = connection;
  return {
    version: () => versionOf(connection, readMs),
    status: () => runtimeStatus(connection, readMs),
    listImages: async () => (await call(METHODS.listImages, {}, readMs)).images.map(runtimeImage),
    listContainers: async () =>
      (await call(METHODS.listContainers, {}, readMs)).containers.map(runtimeContainer),
    listSandboxes: async () => (await call(METHODS.listPodSandbox, {}, readMs)).items.map(runtimeSandbox),
    containerStatus: async (containerId) => {
      const { status } = await call(METHODS.containerStatus, { containerId }, readMs);
      return runtimeContainerStatus(present(status, 'ContainerStatus', containerId));
    },
    sandboxStatus: async (podSandboxId) => {
      const { status, info } = await call(METHODS.podSandboxStatus, { podSandboxId, verbose: true }, readMs);
      const { id, state } = present(status, 'PodSandboxStatus', podSandboxId);
      return { id, state: sandboxState(state), image: verboseImageOfSandbox(info.info) };
    },
    imageLabels: (id) => labelsOf(connection, id, readMs),
    imageFilesystems: async () => {
      const answer = await call(METHODS.imageFsInfo, {}, readMs);
      return {
        image: answer.imageFilesystems.map(runtimeFilesystem),
        container: answer.containerFilesystems.map(runtimeFilesystem),
      };
    },
    containerEvents: (signal) => containerEvents(connection, signal),
  };
}

/** Only what removes, over a connection that is there. */
export function removerOver(
  connection: Connection,
  { removeImageMs, removeMs }: CallTimeouts,
): RuntimeRemover {
  const { callUncancelled: remove } = connection;
  return {
    removeImage: async (image) => {
      await remove(METHODS.removeImage, { image: imageNamed(image) }, removeImageMs);
    },
    stopContainer: async (containerId, timeoutSeconds) => {
      const waitMs = removeMs + timeoutSeconds * 1000;
      await remove(METHODS.stopContainer, { containerId, timeout: String(timeoutSeconds) }, waitMs);
    },
    removeContainer: async (containerId) => {
      await remove(METHODS.removeContainer, { containerId }, removeMs);
    },
    stopSandbox: async (podSandboxId) => {
      await remove(METHODS.stopPodSandbox, { podSandboxId }, removeMs);
    },
    removeSandbox: async (podSandboxId) => {
      await remove(METHODS.removePodSandbox, { podSandboxId }, removeMs);
    },
  };
}

async function labelsOf({ call }: Connection, id: string, readMs: number): Promise<ImageLabels | null> {
  const request = { image: imageNamed(id), verbose: true };
  const { image, info } = await call(METHODS.imageStatus, request, readMs);
  if (image) return verboseImageLabels(info.info);
  throw new FleetGcError('RUNTIME_NOT_FOUND', `The runtime does not know the image ${id}.`);
}

const imageNamed = (image: string) => ({ image, userSpecifiedImage: '', runtimeHandler: '', imageRef: '' });

async function versionOf(connection: Connection, readMs: number): Promise<RuntimeVersion> {
  try {
    const answer = await connection.call(METHODS.version, { version: 'v1' }, readMs);
    return {
      name: answer.runtimeName,
      version: answer.runtimeVersion,
      apiVersion: answer.runtimeApiVersion,
    };
  } catch (error) {
    const unsupported = error instanceof FleetGcError && error.code === 'RUNTIME_UNSUPPORTED';
    if (unsupported && (await speaksAlpha(connection, readMs))) throw onlyAlpha(connection, error);
    throw error;
  }
}

/** Asks in the version of CRI that came before v1, only to be able to say what is wrong. */
async function speaksAlpha({ call }: Connection, readMs: number): Promise<boolean> {
  const path = '/runtime.v1alpha2.RuntimeService/Version';
  const method = { ...METHODS.version, definition: { ...METHODS.version.definition, path } };
  return call(method, { version: 'v1alpha2' }, readMs).then(
    () => true,
    () => false,
  );
}

const onlyAlpha = ({ socketPath }: Connection, cause: unknown): FleetGcError =>
  new FleetGcError(
    'RUNTIME_UNSUPPORTED',
    `The runtime at ${socketPath} speaks only CRI v1alpha2, and FleetGC needs v1: update to containerd 1.6 or CRI-O 1.23 or later.`,
    { cause },
  );

async function runtimeStatus({ call }: Connection, readMs: number) {
  const { status, info } = await call(METHODS.status, { verbose: true }, readMs);
  return {
    runtimeReady: status?.conditions.some((c) => c.type === 'RuntimeReady' && c.status) ?? false,
    sandboxImage: verboseSandboxImage(info.config),
  };
}

function present<T>(status: T | null, method: string, id: string): T {
  if (status) return status;
  throw new FleetGcError('RUNTIME_FAILED', `The runtime answered ${method} of ${id} without a status.`);
}

const EVENT_KIND: Readonly<Record<z.infer<typeof ContainerEventKindWire>, RuntimeContainerEvent['kind']>> = {
  CONTAINER_CREATED_EVENT: 'created',
  CONTAINER_STARTED_EVENT: 'started',
  CONTAINER_STOPPED_EVENT: 'stopped',
  CONTAINER_DELETED_EVENT: 'deleted',
};

async function* containerEvents(
  { stream }: Connection,
  signal: AbortSignal,
): AsyncGenerator<RuntimeContainerEvent> {
  for await (const { containerId, containerEventType } of stream(METHODS.getContainerEvents, {}, signal))
    yield { containerId, kind: EVENT_KIND[containerEventType] };
}
