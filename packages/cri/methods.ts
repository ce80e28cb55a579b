import { z } from 'zod';
import * as wire from './messages.ts';
import { rpcMethod as method, rpcServices } from './rpc.ts';

const service = rpcServices(new URL('runtime.proto', import.meta.url));

export const RUNTIME_SERVICE = service('runtime.v1.RuntimeService');
export const IMAGE_SERVICE = service('runtime.v1.ImageService');

/** Every method that client, server and workload use. */
export const METHODS = {
  version: method(RUNTIME_SERVICE, 'Version', z.object({ version: z.string() }), wire.VersionWire),
  status: method(RUNTIME_SERVICE, 'Status', wire.VerboseWire, wire.StatusWire),
  runPodSandbox: method(
    RUNTIME_SERVICE,
    'RunPodSandbox',
    z.object({ config: wire.SandboxConfigWire.nullable(), runtimeHandler: z.string() }),
    wire.SandboxIdWire,
  ),
  stopPodSandbox: method(RUNTIME_SERVICE, 'StopPodSandbox', wire.SandboxIdWire, wire.EmptyWire),
  removePodSandbox: method(RUNTIME_SERVICE, 'RemovePodSandbox', wire.SandboxIdWire, wire.EmptyWire),
  podSandboxStatus: method(
    RUNTIME_SERVICE,
    'PodSandboxStatus',
    wire.SandboxIdWire.extend(wire.VerboseWire.shape),
    wire.SandboxStatusWire,
  ),
  listPodSandbox: method(
    RUNTIME_SERVICE,
    'ListPodSandbox',
    wire.EmptyWire,
    z.object({ items: z.array(wire.SandboxWire) }),
  ),
  createContainer: method(
    RUNTIME_SERVICE,
    'CreateContainer',
    z.object({
      podSandboxId: z.string(),
      config: wire.ContainerConfigWire.nullable(),
      sandboxConfig: wire.SandboxConfigWire.nullable(),
    }),
    wire.ContainerIdWire,
  ),
  startContainer: method(RUNTIME_SERVICE, 'StartContainer', wire.ContainerIdWire, wire.EmptyWire),
  stopContainer: method(
    RUNTIME_SERVICE,
    'StopContainer',
    wire.ContainerIdWire.extend({ timeout: z.string() }),
    wire.EmptyWire,
  ),
  removeContainer: method(RUNTIME_SERVICE, 'RemoveContainer', wire.ContainerIdWire, wire.EmptyWire),
  listContainers: method(
    RUNTIME_SERVICE,
    'ListContainers',
    wire.EmptyWire,
    z.object({ containers: z.array(wire.ContainerWire) }),
  ),
  containerStatus: method(
    RUNTIME_SERVICE,
    'ContainerStatus',
    wire.ContainerIdWire,
    z.object({ status: wire.ContainerStatusWire.nullable() }),
  ),
  getContainerEvents: method(RUNTIME_SERVICE, 'GetContainerEvents', wire.EmptyWire, wire.ContainerEventWire),
  listImages: method(
    IMAGE_SERVICE,
    'ListImages',
    wire.EmptyWire,
    z.object({ images: z.array(wire.ImageWire) }),
  ),
  imageStatus: method(
    IMAGE_SERVICE,
    'ImageStatus',
    wire.ImageNameWire.extend(wire.VerboseWire.shape),
    wire.ImageStatusWire,
  ),
  pullImage: method(IMAGE_SERVICE, 'PullImage', wire.ImageNameWire, z.object({ imageRef: z.string() })),
  removeImage: method(IMAGE_SERVICE, 'RemoveImage', wire.ImageNameWire, wire.EmptyWire),
  imageFsInfo: method(
    IMAGE_SERVICE,
    'ImageFsInfo',
    wire.EmptyWire,
    z.object({
      imageFilesystems: z.array(wire.FilesystemUsageWire),
      containerFilesystems: z.array(wire.FilesystemUsageWire),
    }),
  ),
} as const;
