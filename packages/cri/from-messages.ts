import { z } from 'zod';
import { FleetGcError } from '../process/errors.ts';
import type {
  ContainerStatusWire,
  ContainerWire,
  FilesystemUsageWire,
  ImageWire,
  SandboxWire,
} from './messages.ts';
import type {
  ImageLabels,
  ImageSpec,
  RuntimeContainer,
  RuntimeContainerState,
  RuntimeContainerStatus,
  RuntimeFilesystem,
  RuntimeImage,
  RuntimeSandbox,
} from './port.ts';

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

export const runtimeContainer = (container: ContainerWire): RuntimeContainer => ({
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

export const runtimeContainerStatus = (container: ContainerStatusWire): RuntimeContainerStatus => ({
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

export const sandboxState = (state: SandboxWire['state']): RuntimeSandbox['state'] =>
  state === 'SANDBOX_READY' ? 'ready' : 'notReady';

export const runtimeSandbox = (sandbox: SandboxWire): RuntimeSandbox => ({
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

export const runtimeFilesystem = (usage: FilesystemUsageWire): RuntimeFilesystem => ({
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

/** Of one image: an inventory of 4 MiB, compressed, has room for hundreds of such, and most images have less than a tenth of it. */
const MAX_LABELS_BYTES = 16 * 1024;

/**
 * The labels in a verbose image status, as containerd and CRI-O tell them; `null` when it has no image configuration. Throws
 * `RUNTIME_ANSWER_TOO_LARGE` for more than 16 KiB, which would take the place of all others in an inventory.
 */
export function verboseImageLabels(info: string | undefined): ImageLabels | null {
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
