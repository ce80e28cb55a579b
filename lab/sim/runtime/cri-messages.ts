import type { RuntimeContainerEvent } from '../../../packages/cri/port.ts';
import type { RequestOf, ResponseOf } from '../../../packages/cri/server.ts';
import type {
  ContainerRequest,
  RuntimeAge,
  SimulatedContainer,
  SimulatedImage,
  SimulatedSandbox,
} from './objects.ts';
import type { SandboxRequest } from './pod-store.ts';

type ListedImage = ResponseOf<'listImages'>['images'][number];
type ListedSandbox = ResponseOf<'listPodSandbox'>['items'][number];
type ListedContainer = ResponseOf<'listContainers'>['containers'][number];
type ContainerStatus = NonNullable<ResponseOf<'containerStatus'>['status']>;
type ContainerEvent = ResponseOf<'getContainerEvents'>;

const CONTAINER_STATE = {
  created: 'CONTAINER_CREATED',
  running: 'CONTAINER_RUNNING',
  exited: 'CONTAINER_EXITED',
  unknown: 'CONTAINER_UNKNOWN',
} as const;

const EVENT_KIND = {
  created: 'CONTAINER_CREATED_EVENT',
  started: 'CONTAINER_STARTED_EVENT',
  stopped: 'CONTAINER_STOPPED_EVENT',
  deleted: 'CONTAINER_DELETED_EVENT',
} as const;

export const imageMessage = (image: SimulatedImage, age: RuntimeAge): ListedImage => ({
  id: image.id,
  repoTags: [...image.repoTags],
  repoDigests: [...image.repoDigests],
  size: String(image.sizeBytes),
  spec: null,
  pinned: age === 'current' && image.pinned,
});

export const imageStatusMessage = (
  image: SimulatedImage | undefined,
  age: RuntimeAge,
): ResponseOf<'imageStatus'> =>
  image
    ? {
        image: imageMessage(image, age),
        info: { info: JSON.stringify({ imageSpec: { config: { Labels: image.labels } } }) },
      }
    : { image: null, info: {} };

export const sandboxStateMessage = ({ state }: SimulatedSandbox) =>
  state === 'ready' ? 'SANDBOX_READY' : 'SANDBOX_NOTREADY';

export const sandboxMessage = (sandbox: SimulatedSandbox): ListedSandbox => ({
  id: sandbox.id,
  metadata: sandbox.metadata,
  state: sandboxStateMessage(sandbox),
  createdAt: String(sandbox.createdAtNs),
  labels: { ...sandbox.labels },
  annotations: { ...sandbox.annotations },
});

export const containerMessage = (container: SimulatedContainer, age: RuntimeAge): ListedContainer => ({
  id: container.id,
  podSandboxId: container.sandboxId,
  metadata: { name: container.name, attempt: container.attempt },
  image: imageSpec(container.image, container.userSpecifiedImage),
  imageRef: container.imageId,
  state: CONTAINER_STATE[container.state],
  createdAt: String(container.createdAtNs),
  labels: { ...container.labels },
  annotations: { ...container.annotations },
  imageId: age === 'old' ? '' : container.imageId,
});

export const containerStatusMessage = (container: SimulatedContainer, age: RuntimeAge): ContainerStatus => ({
  id: container.id,
  state: CONTAINER_STATE[container.state],
  createdAt: String(container.createdAtNs),
  startedAt: String(container.startedAtNs),
  finishedAt: String(container.finishedAtNs),
  imageRef: container.imageId,
  annotations: { ...container.annotations },
  mounts: container.mountedImages.map(({ containerPath, image }) => ({
    containerPath,
    hostPath: '',
    readonly: true,
    image: imageSpec(image, ''),
  })),
  logPath: container.logFile,
  imageId: age === 'old' ? '' : container.imageId,
});

export const eventMessage = ({ containerId, kind }: RuntimeContainerEvent): ContainerEvent => ({
  containerId,
  containerEventType: EVENT_KIND[kind],
});

export const sandboxRequest = (config: RequestOf<'runPodSandbox'>['config']): SandboxRequest => ({
  metadata: config?.metadata ?? { name: '', uid: '', namespace: '', attempt: 0 },
  logDirectory: config?.logDirectory ?? '',
  labels: config?.labels ?? {},
  annotations: config?.annotations ?? {},
});

export const containerRequest = (
  sandboxId: string,
  config: RequestOf<'createContainer'>['config'],
): ContainerRequest => ({
  sandboxId,
  name: config?.metadata?.name ?? '',
  attempt: config?.metadata?.attempt ?? 0,
  image: config?.image?.image ?? '',
  userSpecifiedImage: config?.image?.userSpecifiedImage ?? '',
  mountedImages: (config?.mounts ?? []).flatMap(({ containerPath, image }) =>
    image ? [{ containerPath, image: image.image }] : [],
  ),
  labels: config?.labels ?? {},
  annotations: config?.annotations ?? {},
  logPath: config?.logPath ?? '',
});

const imageSpec = (image: string, userSpecifiedImage: string) => ({
  image,
  userSpecifiedImage,
  runtimeHandler: '',
  imageRef: '',
});
