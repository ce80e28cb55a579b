import { z } from 'zod';

/**
 * CRI messages as proto-loader hands them over: enums by name, 64-bit numbers as decimal digits, missing messages as
 * `null`. An enum value that we do not know arrives as a number and is refused: what we cannot read, we do not guess.
 */
const Int64 = z
  .string()
  .regex(/^-?\d+$/)
  .transform(BigInt);
const StringMap = z.record(z.string(), z.string());

export const ImageSpecWire = z.object({
  image: z.string(),
  userSpecifiedImage: z.string(),
  runtimeHandler: z.string(),
  imageRef: z.string(),
});
const MaybeImageSpec = ImageSpecWire.nullable();

export const SandboxMetadataWire = z.object({
  name: z.string(),
  uid: z.string(),
  namespace: z.string(),
  attempt: z.int(),
});
const ContainerMetadataWire = z.object({ name: z.string(), attempt: z.int() });
const MountWire = z.object({
  containerPath: z.string(),
  hostPath: z.string(),
  readonly: z.boolean(),
  image: MaybeImageSpec,
});

export const SandboxStateWire = z.enum(['SANDBOX_READY', 'SANDBOX_NOTREADY']);
export const ContainerStateWire = z.enum([
  'CONTAINER_CREATED',
  'CONTAINER_RUNNING',
  'CONTAINER_EXITED',
  'CONTAINER_UNKNOWN',
]);
export const ContainerEventKindWire = z.enum([
  'CONTAINER_CREATED_EVENT',
  'CONTAINER_STARTED_EVENT',
  'CONTAINER_STOPPED_EVENT',
  'CONTAINER_DELETED_EVENT',
]);

export const EmptyWire = z.object({});
export const SandboxIdWire = z.object({ podSandboxId: z.string() });
export const ContainerIdWire = z.object({ containerId: z.string() });
export const VerboseWire = z.object({ verbose: z.boolean() });

export const VersionWire = z.object({
  version: z.string(),
  runtimeName: z.string(),
  runtimeVersion: z.string(),
  runtimeApiVersion: z.string(),
});

export const StatusWire = z.object({
  status: z.object({ conditions: z.array(z.object({ type: z.string(), status: z.boolean() })) }).nullable(),
  info: StringMap,
});

const NamespaceModeWire = z.enum(['POD', 'CONTAINER', 'NODE', 'TARGET']);
const LinuxSecurityWire = z.object({
  namespaceOptions: z
    .object({ network: NamespaceModeWire, pid: NamespaceModeWire, ipc: NamespaceModeWire })
    .nullable(),
});

export const SandboxConfigWire = z.object({
  metadata: SandboxMetadataWire.nullable(),
  hostname: z.string(),
  logDirectory: z.string(),
  labels: StringMap,
  annotations: StringMap,
  linux: z.object({ securityContext: LinuxSecurityWire.nullable() }).nullable(),
});
export type SandboxConfigWire = z.input<typeof SandboxConfigWire>;

export const ContainerConfigWire = z.object({
  metadata: ContainerMetadataWire.nullable(),
  image: MaybeImageSpec,
  command: z.array(z.string()),
  args: z.array(z.string()),
  mounts: z.array(MountWire),
  labels: StringMap,
  annotations: StringMap,
  logPath: z.string(),
  linux: z.object({ securityContext: LinuxSecurityWire.nullable() }).nullable(),
});
export type ContainerConfigWire = z.input<typeof ContainerConfigWire>;

/** Nothing can be removed or told apart by an empty id. */
const ObjectId = z.string().min(1, 'is empty');

export const SandboxWire = z.object({
  id: ObjectId,
  metadata: SandboxMetadataWire.nullable(),
  state: SandboxStateWire,
  createdAt: Int64,
  labels: StringMap,
  annotations: StringMap,
});
export type SandboxWire = z.output<typeof SandboxWire>;

export const SandboxStatusWire = z.object({
  status: z.object({ id: z.string(), state: SandboxStateWire }).nullable(),
  info: StringMap,
});

export const ContainerWire = z.object({
  id: ObjectId,
  podSandboxId: z.string(),
  metadata: ContainerMetadataWire.nullable(),
  image: MaybeImageSpec,
  imageRef: z.string(),
  state: ContainerStateWire,
  createdAt: Int64,
  labels: StringMap,
  annotations: StringMap,
  imageId: z.string(),
});
export type ContainerWire = z.output<typeof ContainerWire>;

export const ContainerStatusWire = z.object({
  id: z.string(),
  state: ContainerStateWire,
  createdAt: Int64,
  startedAt: Int64,
  finishedAt: Int64,
  imageRef: z.string(),
  annotations: StringMap,
  mounts: z.array(MountWire),
  logPath: z.string(),
  imageId: z.string(),
});
export type ContainerStatusWire = z.output<typeof ContainerStatusWire>;

export const ContainerEventWire = z.object({
  containerId: z.string(),
  containerEventType: ContainerEventKindWire,
});

export const ImageWire = z.object({
  id: ObjectId,
  repoTags: z.array(z.string()),
  repoDigests: z.array(z.string()),
  size: Int64,
  spec: MaybeImageSpec,
  pinned: z.boolean(),
});
export type ImageWire = z.output<typeof ImageWire>;

export const ImageStatusWire = z.object({ image: ImageWire.nullable(), info: StringMap });

const Count = z.object({ value: Int64 }).nullable();
export const FilesystemUsageWire = z.object({
  fsId: z.object({ mountpoint: z.string() }).nullable(),
  usedBytes: Count,
  inodesUsed: Count,
});
export type FilesystemUsageWire = z.output<typeof FilesystemUsageWire>;

export const ImageNameWire = z.object({ image: MaybeImageSpec });
