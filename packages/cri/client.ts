import { z } from 'zod';
import { FleetGcError } from '../process/errors.ts';
import { type Connection, connect } from './connection.ts';
import type {
  ContainerEventKindWire,
  ContainerStatusWire,
  ContainerWire,
  FilesystemUsageWire,
  ImageWire,
  SandboxWire,
} from './messages.ts';
import { METHODS } from './methods.ts';
import type {
  ImageLabels,
  ImageSpec,
  RuntimeContainer,
  RuntimeContainerEvent,
  RuntimeContainerState,
  RuntimeContainerStatus,
  RuntimeFilesystem,
  RuntimeImage,
  RuntimeReader,
  RuntimeRemover,
  RuntimeSandbox,
  RuntimeVersion,
} from './port.ts';

/** How long a call may take, in milliseconds. */
export interface CallTimeouts {
  readonly readMs: number;
  readonly removeImageMs: number;
  /** Containers and sandboxes; the runtime's own grace period comes on top. */
  readonly removeMs: number;
}

/**
 * `removeMs` is the kubelet's own timeout for runtime requests.
 * @limit Timeouts of CRI calls. Removal of images bounds `NODE_SHUTDOWN_LIMIT_MS`.
 */
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

const NO_IMAGE: ImageSpec = { image: '', userSpecifiedImage: '', imageRef: '', runtimeHandler: '' };

const CONTAINER_STATE: Readonly<Record<ContainerWire['state'], RuntimeContainerState>> = {
  CONTAINER_CREATED: 'created',
  CONTAINER_RUNNING: 'running',
  CONTAINER_EXITED: 'exited',
  CONTAINER_UNKNOWN: 'unknown',
};

export const runtimeImage = (image: ImageWire): RuntimeImage => ({
  id: image.id,
  repoTags: image.repoTags,
  repoDigests: image.repoDigests,
  sizeBytes: image.size,
  pinned: image.pinned,
  runtimeHandler: image.spec?.runtimeHandler ?? '',
});

const runtimeContainer = (container: ContainerWire): RuntimeContainer => ({
  id: container.id,
  sandboxId: container.podSandboxId,
  name: container.metadata?.name ?? '',
  attempt: container.metadata?.attempt ?? 0,
  state: CONTAINER_STATE[container.state],
  createdAtNs: container.createdAt,
  image: container.image ?? NO_IMAGE,
  imageRef: container.imageRef,
  imageId: container.imageId,
  labels: container.labels,
  annotations: container.annotations,
});

const runtimeContainerStatus = (container: ContainerStatusWire): RuntimeContainerStatus => ({
  id: container.id,
  state: CONTAINER_STATE[container.state],
  createdAtNs: container.createdAt,
  startedAtNs: container.startedAt,
  finishedAtNs: container.finishedAt,
  imageRef: container.imageRef,
  imageId: container.imageId,
  logPath: container.logPath,
  annotations: container.annotations,
  mountedImages: container.mounts.flatMap(({ image }) => image ?? []),
});

const sandboxState = (state: SandboxWire['state']): RuntimeSandbox['state'] =>
  state === 'SANDBOX_READY' ? 'ready' : 'notReady';

const runtimeSandbox = (sandbox: SandboxWire): RuntimeSandbox => ({
  id: sandbox.id,
  podUid: sandbox.metadata?.uid ?? '',
  podName: sandbox.metadata?.name ?? '',
  podNamespace: sandbox.metadata?.namespace ?? '',
  attempt: sandbox.metadata?.attempt ?? 0,
  state: sandboxState(sandbox.state),
  createdAtNs: sandbox.createdAt,
  labels: sandbox.labels,
  annotations: sandbox.annotations,
});

const runtimeFilesystem = (usage: FilesystemUsageWire): RuntimeFilesystem => ({
  mountpoint: usage.fsId?.mountpoint ?? '',
  usedBytes: usage.usedBytes?.value ?? null,
  inodesUsed: usage.inodesUsed?.value ?? null,
});

/** The image that the runtime makes sandboxes of, as a verbose status tells it; empty when it does not. */
export const verboseSandboxImage = (info: string | undefined): string =>
  fromVerbose(info, VerboseConfig)?.sandboxImage ?? '';

/** The image of a sandbox, as its verbose status tells it; empty when it does not. */
export const verboseImageOfSandbox = (info: string | undefined): string =>
  fromVerbose(info, VerboseSandbox)?.image ?? '';

/**
 * Of one image: an inventory of 4 MiB, compressed, has room for hundreds of such, and most images have less than a tenth of it.
 * @limit Bytes of reported labels of one image.
 */
const MAX_LABELS_BYTES = 16 * 1024;

/**
 * The labels in a verbose image status, as containerd and CRI-O tell them; `null` when it has no image configuration. Throws
 * `RUNTIME_ANSWER_TOO_LARGE` for more than 16 KiB, which would take the place of all others in an inventory.
 */
function verboseImageLabels(info: string | undefined): ImageLabels | null {
  const status = fromVerbose(info, VerboseImage);
  const labels = status && (status.imageSpec.config?.Labels ?? {});
  if (Buffer.byteLength(JSON.stringify(labels)) <= MAX_LABELS_BYTES) return labels;
  throw new FleetGcError('RUNTIME_ANSWER_TOO_LARGE', `labels have more than ${MAX_LABELS_BYTES} bytes`);
}

const VerboseConfig = z.object({ sandboxImage: z.string() });
const VerboseSandbox = z.object({ image: z.string() });
const VerboseImage = z.object({
  imageSpec: z.object({ config: z.object({ Labels: z.record(z.string(), z.string()).nullish() }).nullish() }),
});

function fromVerbose<Schema extends z.ZodType>(
  info: string | undefined,
  schema: Schema,
): z.output<Schema> | null {
  if (info === undefined) return null;
  try {
    return schema.safeParse(JSON.parse(info)).data ?? null;
  } catch {
    return null;
  }
}
