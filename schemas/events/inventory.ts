import { z } from 'zod';
import { EventId } from './event-id.ts';
import { FilesystemReadings } from './filesystem.ts';
import { NodeIdentity } from './identity.ts';
import { Backoff } from './object-kinds.ts';
import { InventoryLogSymlink, InventoryPodLogDirectory } from './pod-log-entries.ts';
import { Reclaim } from './reclaim.ts';
import { Instant } from './time.ts';

/** @limit Objects in one inventory. A node with more publishes counts only and removes nothing. The image history has room for as many. */
export const MAX_INVENTORY_OBJECTS = 20_000;
/** @limit Size of a compressed inventory. Keep it within `MAX_RECORD_BYTES`. */
export const MAX_INVENTORY_COMPRESSED_BYTES = 4 * 1024 * 1024;

/** Nanoseconds since the epoch as decimal digits: they pass 2^53, and equal creation times must stay equal. */
export const EpochNs = z.string().regex(/^(0|[1-9][0-9]{0,18})$/);

/** Who needs an image, as seen on the node by `packages/cri/usage.ts`. */
export const ImageUser = z.object({
  kind: z.enum(['container', 'sandbox', 'pod', 'sandbox-image', 'lease', 'snapshot', 'ingest']),
  /**
   * Container or sandbox id, pod UID, or the reference configured as the sandbox image. Of containerd, beside CRI: a container
   * that CRI does not list, a lease, a snapshot that somebody writes or looks at, or what a pull is fetching.
   */
  id: z.string(),
});
export type ImageUser = z.infer<typeof ImageUser>;

/** What images consist of on disk, and may have in common: the packed blob of a layer, and the unpacked snapshot. */
export const InventoryLayer = z.object({
  kind: z.enum(['blob', 'snapshot']),
  /**
   * The first 12 digits of a blob's digest, or of a snapshot's chain id: enough to find it with the runtime's tools. Which
   * layers images have in common is told by positions alone.
   */
  digest: z.string(),
  /** What goes from the disk with it. */
  sizeBytes: z.int().nonnegative(),
});
export type InventoryLayer = z.infer<typeof InventoryLayer>;

export const InventoryImage = z.object({
  id: z.string().min(1),
  repoTags: z.array(z.string()),
  repoDigests: z.array(z.string()),
  sizeBytes: z.int().nonnegative(),
  pinned: z.boolean(),
  /** Empty when the runtime names none. */
  runtimeHandler: z.string(),
  /** `null` when the runtime does not tell them: then any label may be among them (M11). */
  labels: z.record(z.string(), z.string()).nullable(),
  /** Epoch milliseconds on the clock of `takenAt`, shifted by the agent when that clock was stepped (C1, C7). */
  firstDetectedMs: z.int().nonnegative(),
  /** As `firstDetectedMs`; `null` when no detection ever saw the image in use ("zero time"). */
  lastUsedMs: z.int().nonnegative().nullable(),
  usedBy: z.array(ImageUser),
  backoff: Backoff.nullable(),
  /** Positions in the inventory's `layers`; `null` when nobody told them (M7). */
  layers: z.array(z.int().nonnegative()).nullable().default(null),
  /**
   * That this node did not pull it, or that the runtime, which could tell, has not (M12). Left out of an image that was
   * pulled, since most are and it would make every inventory larger, and where no runtime could tell it of any.
   */
  origin: z.enum(['not-pulled', 'unknown']).optional(),
});
export type InventoryImage = z.infer<typeof InventoryImage>;

/** The kubelet's labels on a container or sandbox. */
export const PodReference = z.object({ uid: z.string(), name: z.string(), namespace: z.string() });

export const ContainerState = z.enum(['created', 'running', 'exited', 'unknown']);
export const InventoryContainer = z.object({
  id: z.string().min(1),
  name: z.string(),
  attempt: z.int().nonnegative(),
  /** `null` when the kubelet's labels are missing: not ours (A12, M41). */
  pod: PodReference.nullable(),
  sandboxId: z.string(),
  state: ContainerState,
  createdAtNs: EpochNs,
  /** `null` while it has not ended, and where the runtime does not tell (M26). */
  finishedAtNs: EpochNs.nullable().default(null),
  /** The image as the container names it: id, reference or digest; empty when it names none. */
  imageId: z.string(),
  /** Absolute path of the log, or `null` when the runtime could not tell. */
  logPath: z.string().nullable(),
  backoff: Backoff.nullable(),
});
export type InventoryContainer = z.infer<typeof InventoryContainer>;

export const InventorySandbox = z.object({
  id: z.string().min(1),
  /** Attempts of one pod have the same pod UID and different ids. */
  attempt: z.int().nonnegative(),
  podUid: z.string(),
  /** `null` when the kubelet's labels are missing: not ours (M41). */
  pod: PodReference.nullable(),
  state: z.enum(['ready', 'notReady']),
  createdAtNs: EpochNs,
  backoff: Backoff.nullable(),
});
export type InventorySandbox = z.infer<typeof InventorySandbox>;

/**
 * What is known of a pod UID (A6, A8). A UID that is not listed is unknown: neither is removable. The empty UID is that
 * of objects without the kubelet's labels (A12); agents never list it.
 */
export const InventoryPod = z.object({
  uid: z.string(),
  state: z.enum(['known', 'gone', 'unknown']),
  contentRemovable: z.boolean(),
  runtimeRemovable: z.boolean(),
  /** Names of its init containers; `null` where nobody told them, so that any container may be one (M28). */
  initContainers: z.array(z.string()).nullable().default(null),
});
export type InventoryPod = z.infer<typeof InventoryPod>;

/** Why an inventory was published. */
export const InventoryTrigger = z.enum(['start', 'container-died', 'listing-changed', 'interval', 'order']);

/** Something the agent could not read or did not believe; a closed list so that a rule can name it. */
export const InventoryProblem = z.object({
  code: z.enum([
    'runtime-unreachable',
    'runtime-partial',
    'runtime-changed-meanwhile',
    'filesystem-unreadable',
    'history-unreadable',
    'duplicate-ids',
    'value-out-of-range',
  ]),
  message: z.string(),
});
export type InventoryProblem = z.infer<typeof InventoryProblem>;

const header = {
  type: z.literal('fleetgc.node.inventory'),
  version: z.literal(1),
  id: EventId,
  ...NodeIdentity.shape,
  /** Read before the first fact of this inventory. */
  takenAt: Instant,
  agentStartedAt: Instant,
  trigger: InventoryTrigger,
  /** The reclaim of the order that this inventory answers. */
  reclaim: Reclaim.nullable(),
  nodeLabels: z.record(z.string(), z.string()),
  /** Versions of the command schema that this node's executor accepts. */
  commandVersions: z.array(z.int().positive()),
  runtime: z.object({ name: z.string(), version: z.string() }),
  filesystems: FilesystemReadings,
};

export const CompleteInventory = z.object({
  ...header,
  status: z.literal('complete'),
  /** Every configured pod source has delivered at least once (A7). */
  allSourcesReady: z.boolean(),
  /**
   * Since when nobody has set the clock of `takenAt`: what runtimes stamped before may be younger than it says, and ages of
   * containers count from here at the earliest (M26, M27, M32). `null` where nobody told it: then none has begun.
   */
  clockSteadySinceMs: z.int().nonnegative().nullable().default(null),
  /** Containers without any usable image reference: while there is one, no image may go. */
  containersWithoutImage: z.array(z.string()).max(MAX_INVENTORY_OBJECTS),
  /** Containers that died since the last inventory, when that is the trigger (G23); else empty. */
  diedContainerIds: z.array(z.string()).max(MAX_INVENTORY_OBJECTS),
  /** Whether the image that new sandboxes need is known or reported as pinned (M9). */
  sandboxImageKnown: z.boolean(),
  /** False while a configured kubelet has not told yet which images its pods want (C10, M5). */
  podImagesKnown: z.boolean(),
  /**
   * Since when it was watched without a break which images are in use, as `firstDetectedMs`: what was used before may have
   * been used unseen (E2). `null` where nobody told it.
   */
  imagesWatchedSinceMs: z.int().nonnegative().nullable().default(null),
  images: z.array(InventoryImage).max(MAX_INVENTORY_OBJECTS),
  /** Each once, however many images have it; `null` when the runtime does not tell, or they do not fit in (M7, M40). */
  layers: z.array(InventoryLayer).nullable().default(null),
  containers: z.array(InventoryContainer).max(MAX_INVENTORY_OBJECTS),
  sandboxes: z.array(InventorySandbox).max(MAX_INVENTORY_OBJECTS),
  pods: z.array(InventoryPod).max(MAX_INVENTORY_OBJECTS),
  /** Sorted by name; `null` when the directory could not be read, so that nothing of it goes (I1). */
  podLogDirectories: z.array(InventoryPodLogDirectory).max(MAX_INVENTORY_OBJECTS).nullable().default(null),
  /** Sorted by name; `null` when the directory could not be read. */
  logSymlinks: z.array(InventoryLogSymlink).max(MAX_INVENTORY_OBJECTS).nullable().default(null),
});
export type CompleteInventory = z.infer<typeof CompleteInventory>;

/** Something was missing or changed while it was read. Nothing may be removed on it. */
export const IncompleteInventory = z.object({
  ...header,
  status: z.literal('incomplete'),
  problems: z.array(InventoryProblem).min(1),
});

export const TooLargeInventory = z.object({
  ...header,
  status: z.literal('too-large'),
  counts: z.object({
    images: z.int().nonnegative(),
    containers: z.int().nonnegative(),
    sandboxes: z.int().nonnegative(),
    bytes: z.int().nonnegative(),
  }),
});

/** What stands at the beginning of every inventory: by this much of it, it can be passed over for a newer one. */
export const InventoryHead = IncompleteInventory.pick({
  type: true,
  version: true,
  id: true,
  cluster: true,
  node: true,
  nodeInstance: true,
  takenAt: true,
  trigger: true,
  reclaim: true,
});
export type InventoryHead = z.infer<typeof InventoryHead>;

/**
 * Fact: everything a decision needs about one node at one instant. Parsed tolerantly: unknown fields of a newer
 * agent are dropped.
 */
export const Inventory = z.discriminatedUnion('status', [
  CompleteInventory,
  IncompleteInventory,
  TooLargeInventory,
]);
export type Inventory = z.infer<typeof Inventory>;
