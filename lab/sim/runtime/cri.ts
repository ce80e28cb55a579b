import { on } from 'node:events';
import { sha256Hex } from '../../../packages/canonical/ids.ts';
import type { ContainerdHandlers, ContainerdMethodName } from '../../../packages/cri/containerd/server.ts';
import type { RuntimeContainerEvent } from '../../../packages/cri/port.ts';
import type { CriHandlers, RequestOf, ResponseOf, UnaryMethodName } from '../../../packages/cri/server.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import type { CallFault, Faults } from './faults.ts';
import {
  type ContainerRequest,
  type ContentPiece,
  contentOf,
  type RuntimeAge,
  type SimulatedContainer,
  type SimulatedImage,
  type SimulatedSandbox,
} from './objects.ts';
import type { SandboxRequest, SimulatedRuntime } from './runtime.ts';

interface CriHandlerParts {
  readonly runtime: SimulatedRuntime;
  readonly faults: Faults;
  readonly age: RuntimeAge;
  readonly mountpoint: string;
}

/** The CRI methods over a simulated runtime, each going wrong as the faults say. */
export function criHandlers(parts: CriHandlerParts): CriHandlers {
  return { ...general(parts), ...sandboxes(parts), ...containers(parts), ...images(parts) };
}

function general({ runtime, faults, age, mountpoint }: CriHandlerParts) {
  const info: Record<string, string> =
    age === 'old' ? { config: JSON.stringify({ sandboxImage: runtime.sandboxImage }) } : { config: '{}' };
  const usage = { fsId: { mountpoint }, usedBytes: { value: '0' }, inodesUsed: { value: '0' } };
  return {
    version: faulty(faults, 'version', async () => ({
      version: '0.1.0',
      runtimeName: 'simulated-containerd',
      runtimeVersion: age === 'old' ? '1.6.20' : '2.4.2',
      runtimeApiVersion: 'v1',
    })),
    status: faulty(faults, 'status', async () => ({
      status: { conditions: [{ type: 'RuntimeReady', status: true }] },
      info,
    })),
    imageFsInfo: faulty(faults, 'imageFsInfo', async () => ({
      imageFilesystems: [usage],
      containerFilesystems: age === 'old' ? [] : [usage],
    })),
    getContainerEvents: (signal: AbortSignal) => containerEvents(runtime, age, signal),
  };
}

function sandboxes({ runtime, faults, age }: CriHandlerParts) {
  return {
    runPodSandbox: faulty(faults, 'runPodSandbox', async ({ config }) => ({
      podSandboxId: runtime.runSandbox(sandboxRequest(config)),
    })),
    stopPodSandbox: faulty(faults, 'stopPodSandbox', async ({ podSandboxId }) => {
      if (isStoppable(runtime.sandboxes, podSandboxId, age)) runtime.stopSandbox(podSandboxId);
      return {};
    }),
    removePodSandbox: faulty(faults, 'removePodSandbox', async ({ podSandboxId }) => {
      runtime.removeSandbox(podSandboxId);
      return {};
    }),
    podSandboxStatus: faulty(faults, 'podSandboxStatus', async ({ podSandboxId }) => {
      const sandbox = runtime.sandbox(podSandboxId);
      return {
        status: { id: sandbox.id, state: sandboxStateMessage(sandbox) },
        info: { info: JSON.stringify({ image: sandbox.image }) },
      };
    }),
    listPodSandbox: faulty(faults, 'listPodSandbox', async (_, fault) => ({
      items: cut([...runtime.sandboxes.values()], fault).map(sandboxMessage),
    })),
  };
}

function containers({ runtime, faults, age }: CriHandlerParts) {
  return {
    createContainer: faulty(faults, 'createContainer', async ({ podSandboxId, config }) => ({
      containerId: runtime.createContainer(mountable(containerRequest(podSandboxId, config), age)),
    })),
    startContainer: faulty(faults, 'startContainer', async ({ containerId }) => {
      await runtime.startContainer(containerId);
      return {};
    }),
    stopContainer: faulty(faults, 'stopContainer', async ({ containerId }) => {
      if (isStoppable(runtime.containers, containerId, age)) runtime.stopContainer(containerId);
      return {};
    }),
    removeContainer: faulty(faults, 'removeContainer', async ({ containerId }) => {
      runtime.removeContainer(containerId);
      return {};
    }),
    listContainers: faulty(faults, 'listContainers', async (_, fault) => ({
      containers: cut([...runtime.containers.values()], fault).map((one) => containerMessage(one, age)),
    })),
    containerStatus: faulty(faults, 'containerStatus', async ({ containerId }) => ({
      status: containerStatusMessage(runtime.container(containerId), age),
    })),
  };
}

/** Stopping what is not there is no error since containerd 1.7. */
function isStoppable(known: ReadonlyMap<string, unknown>, id: string, age: RuntimeAge): boolean {
  if (known.has(id)) return true;
  if (age === 'current') return false;
  throw new FleetGcError('RUNTIME_NOT_FOUND', `"${id}": not found`);
}

function mountable(request: ContainerRequest, age: RuntimeAge): ContainerRequest {
  if (age === 'current' || request.mountedImages.length === 0) return request;
  throw new FleetGcError('RUNTIME_FAILED', 'failed to mount: an image is no host path');
}

function images({ runtime, faults, age }: CriHandlerParts) {
  return {
    listImages: faulty(faults, 'listImages', async (_, fault) => ({
      images: cut([...runtime.images.values()], fault).map((image) => imageMessage(image, age)),
    })),
    imageStatus: faulty(faults, 'imageStatus', async ({ image }) =>
      imageStatusMessage(runtime.findImage(image?.image ?? ''), age),
    ),
    pullImage: faulty(faults, 'pullImage', async ({ image }) => ({
      imageRef: await runtime.pullImage(image?.image ?? ''),
    })),
    removeImage: faulty(faults, 'removeImage', async ({ image }) => {
      runtime.removeImage(image?.image ?? '');
      return {};
    }),
  };
}

function faulty<Name extends UnaryMethodName>(
  faults: Faults,
  name: Name,
  handle: (request: RequestOf<Name>, fault: CallFault | undefined) => Promise<ResponseOf<Name>>,
): (request: RequestOf<Name>) => Promise<ResponseOf<Name>> {
  return async (request) => {
    const fault = await faults.meet(name);
    if (fault?.kind === 'error') throw new FleetGcError('RUNTIME_FAILED', fault.message);
    const answer = await handle(request, fault);
    await faults.answered(name);
    return answer;
  };
}

const cut = <T>(objects: readonly T[], fault: CallFault | undefined): readonly T[] =>
  fault?.kind === 'half' ? objects.slice(0, Math.floor(objects.length / 2)) : objects;

async function* containerEvents({ events }: SimulatedRuntime, age: RuntimeAge, signal: AbortSignal) {
  if (age === 'old')
    throw new FleetGcError('RUNTIME_UNSUPPORTED', 'unknown method GetContainerEvents for service runtime.v1');
  for await (const [event] of on(events, 'container', { signal })) yield eventMessage(event);
}

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

const imageMessage = (image: SimulatedImage, age: RuntimeAge): ListedImage => ({
  id: image.id,
  repoTags: [...image.repoTags],
  repoDigests: [...image.repoDigests],
  size: String(image.sizeBytes),
  spec: null,
  pinned: age === 'current' && image.pinned,
});

const imageStatusMessage = (image: SimulatedImage | undefined, age: RuntimeAge): ResponseOf<'imageStatus'> =>
  image
    ? {
        image: imageMessage(image, age),
        info: { info: JSON.stringify({ imageSpec: { config: { Labels: image.labels } } }) },
      }
    : { image: null, info: {} };

const sandboxStateMessage = ({ state }: SimulatedSandbox) =>
  state === 'ready' ? 'SANDBOX_READY' : 'SANDBOX_NOTREADY';

const sandboxMessage = (sandbox: SimulatedSandbox): ListedSandbox => ({
  id: sandbox.id,
  metadata: sandbox.metadata,
  state: sandboxStateMessage(sandbox),
  createdAt: String(sandbox.createdAtNs),
  labels: { ...sandbox.labels },
  annotations: { ...sandbox.annotations },
});

const containerMessage = (container: SimulatedContainer, age: RuntimeAge): ListedContainer => ({
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

const containerStatusMessage = (container: SimulatedContainer, age: RuntimeAge): ContainerStatus => ({
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

const eventMessage = ({ containerId, kind }: RuntimeContainerEvent): ContainerEvent => ({
  containerId,
  containerEventType: EVENT_KIND[kind],
});

const sandboxRequest = (config: RequestOf<'runPodSandbox'>['config']): SandboxRequest => ({
  metadata: config?.metadata ?? { name: '', uid: '', namespace: '', attempt: 0 },
  logDirectory: config?.logDirectory ?? '',
  labels: config?.labels ?? {},
  annotations: config?.annotations ?? {},
});

const containerRequest = (
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

const SNAPSHOTTER = 'overlayfs';
/** Of manifests and configurations, which take next to nothing. */
const SMALL = '1000';
const PULL_LABEL = { 'containerd.io/distribution.source.registry.example': 'app' };
/** Of every blob: a pull creates none before what refers to it. */
const CREATED_AT = { seconds: '1767225600', nanos: 0 };

type Blob = Awaited<ReturnType<ContainerdHandlers['listContent']>>['info'][number];

/** containerd's own API over a simulated runtime, each method going wrong as the faults say. */
export function containerdHandlers(
  { images, otherContainers }: SimulatedRuntime,
  faults: Faults,
): ContainerdHandlers {
  const listed = (): SimulatedImage[] => [...images.values()];
  return {
    listStoredImages: meeting(faults, 'listStoredImages', async () => ({
      images: listed().flatMap((image) =>
        [image.id, ...image.repoTags, ...image.repoDigests].map((name) => ({
          name,
          target: { digest: manifestOf(image) },
        })),
      ),
    })),
    listContent: meeting(faults, 'listContent', async () => ({
      info: unique(listed().toSorted(pulledLast).flatMap(blobsOf), ({ digest }) => digest),
    })),
    listIngests: meeting(faults, 'listIngests', async () => ({ statuses: [] })),
    listStoredContainers: meeting(faults, 'listStoredContainers', async (_: object) =>
      [...otherContainers].map(([id, image]) => ({
        container: { id, image, snapshotter: '', snapshotKey: '' },
      })),
    ),
    listLeases: meeting(faults, 'listLeases', async () => ({ leases: [] })),
    listLeaseResources: meeting(faults, 'listLeaseResources', async () => ({ resources: [] })),
    listSnapshots: meeting(faults, 'listSnapshots', async ({ snapshotter }) => ({
      info:
        snapshotter === SNAPSHOTTER
          ? snapshotsOf(listed()).map(({ digest, parent }) => ({ name: digest, parent, kind: 'COMMITTED' }))
          : [],
    })),
    snapshotUsage: meeting(faults, 'snapshotUsage', async ({ key }) => {
      const snapshot = snapshotsOf(listed()).find(({ digest }) => digest === key);
      if (snapshot) return { size: String(snapshot.sizeBytes) };
      throw new FleetGcError('RUNTIME_NOT_FOUND', `snapshot ${key} does not exist: not found`);
    }),
  };
}

/** What a pull labelled stays so, whatever is imported beside it. */
const pulledLast = (a: SimulatedImage, b: SimulatedImage): number => Number(a.isPulled) - Number(b.isPulled);

const manifestOf = ({ id }: SimulatedImage): string => `sha256:${sha256Hex(`manifest of ${id}`)}`;

/** The manifest refers to the configuration and to the layers, and the configuration to the uppermost snapshot. */
function blobsOf(image: SimulatedImage): Blob[] {
  const content = contentOf(image);
  const layers = content.filter(({ kind }) => kind === 'blob');
  const snapshot = content.findLast(({ kind }) => kind === 'snapshot')?.digest ?? '';
  const references = [
    ['containerd.io/gc.ref.content.config', image.id],
    ...layers.map(({ digest }, index) => [`containerd.io/gc.ref.content.l.${index}`, digest]),
  ];
  const ofPull = image.isPulled ? PULL_LABEL : {};
  const ofManifest = image.hasPullLabel === true ? PULL_LABEL : {};
  const blobs = [
    { digest: manifestOf(image), size: SMALL, labels: { ...ofManifest, ...Object.fromEntries(references) } },
    { digest: image.id, size: SMALL, labels: { [`containerd.io/gc.ref.snapshot.${SNAPSHOTTER}`]: snapshot } },
    ...layers.map(({ digest, sizeBytes }) => ({ digest, size: String(sizeBytes), labels: {} })),
  ];
  return blobs.map((blob) => ({ ...blob, createdAt: CREATED_AT, labels: { ...ofPull, ...blob.labels } }));
}

const snapshotsOf = (images: readonly SimulatedImage[]): ContentPiece[] =>
  unique(
    images.flatMap(contentOf).filter(({ kind }) => kind === 'snapshot'),
    ({ digest }) => digest,
  );

const unique = <T>(items: readonly T[], keyOf: (item: T) => string): T[] => [
  ...new Map(items.map((item) => [keyOf(item), item])).values(),
];

function meeting<Request, Response>(
  faults: Faults,
  name: ContainerdMethodName,
  handle: (request: Request) => Promise<Response>,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const fault = await faults.meet(name);
    if (fault?.kind === 'error') throw new FleetGcError('RUNTIME_FAILED', fault.message);
    const answer = await handle(request);
    await faults.answered(name);
    return answer;
  };
}
