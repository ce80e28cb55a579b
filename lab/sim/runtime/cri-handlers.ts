import { on } from 'node:events';
import type { CriHandlers, RequestOf, ResponseOf, UnaryMethodName } from '../../../packages/cri/server.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import {
  containerMessage,
  containerRequest,
  containerStatusMessage,
  eventMessage,
  imageMessage,
  imageStatusMessage,
  sandboxMessage,
  sandboxRequest,
  sandboxStateMessage,
} from './cri-messages.ts';
import type { CallFault, Faults } from './faults.ts';
import type { ContainerRequest, RuntimeAge } from './objects.ts';
import type { SimulatedRuntime } from './runtime.ts';

export interface CriHandlerParts {
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
