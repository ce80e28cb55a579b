import { zstdCompressSync } from 'node:zlib';
import type { z } from 'zod';
import { deriveId } from '../../../packages/canonical/ids.ts';
import type { LayerTable } from '../../../packages/cri/containerd/image-layers.ts';
import type {
  ListedContainer,
  ListedImage,
  ListedSandbox,
  ListingProblem,
} from '../../../packages/cri/listing-types.ts';
import type { RuntimeVersion } from '../../../packages/cri/port.ts';
import { entriesOf } from '../../../packages/decision/inventory-entries.ts';
import { PRODUCT_VERSION } from '../../../packages/process/product-version.ts';
import { whyTooLarge, whyUnread } from '../../../packages/records/readable-facts.ts';
import { brokenTexts, mayHaveBrokenText } from '../../../schemas/events/broken-texts.ts';
import { ACCEPTED_COMMAND_VERSIONS } from '../../../schemas/events/command.ts';
import type { DiskStats } from '../../../schemas/events/disk-stats.ts';
import type { FilesystemName, FilesystemReadings } from '../../../schemas/events/filesystem.ts';
import type { NodeIdentity } from '../../../schemas/events/identity.ts';
import {
  type CompleteInventory,
  type Inventory,
  type InventoryContainer,
  type InventoryImage,
  type InventorySandbox,
  MAX_INVENTORY_COMPRESSED_BYTES,
  MAX_INVENTORY_OBJECTS,
  type PodReference,
} from '../../../schemas/events/inventory.ts';
import { type Backoff, ObjectKind } from '../../../schemas/events/object-kinds.ts';
import type { Reclaim } from '../../../schemas/events/reclaim.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { type BackoffFile, MAX_BACKOFF_MS } from '../../../schemas/state/removal-backoff.ts';
import type { ImageContents, ImageOrigin } from './contents.ts';
import type { DiskFacts } from './disks.ts';
import { wallTimeOf } from './history.ts';
import type { Work } from './pacing.ts';
import { inventoryLogSymlinks, inventoryPodLogDirectory } from './pod-logs.ts';
import { type CompleteScan, type NodeScan, recordOf } from './scan.ts';

/** What every event of one agent says of itself. */
interface AgentSelf {
  readonly identity: NodeIdentity;
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly startedAt: Instant;
}

/** What was found, and why it was looked for. */
interface Found extends Pick<Work, 'trigger' | 'diedContainerIds'> {
  readonly scan: NodeScan;
  /** The reclaim that it answers. */
  readonly reclaim: Reclaim | null;
  readonly runtime: RuntimeName;
}

export type RuntimeName = Pick<RuntimeVersion, 'name' | 'version'>;

export type AgentEvents = ReturnType<typeof agentEvents>;

/** Makes events of facts. Ids follow from the installation, the start of the agent and a count. */
export function agentEvents({ identity, nodeLabels, startedAt }: AgentSelf) {
  let events = 0;
  const nextId = (prefix: string): string =>
    deriveId(
      prefix,
      identity.nodeInstance,
      startedAt.bootId,
      String(startedAt.sinceBootMs),
      String(events++),
    );
  return {
    diskStats: (facts: DiskFacts): DiskStats => ({
      type: 'fleetgc.node.disk-stats',
      version: 1,
      id: nextId('disk-stats'),
      ...identity,
      fleetgcVersion: PRODUCT_VERSION,
      nodeLabels: { ...nodeLabels },
      ...facts,
    }),
    inventory: (
      { scan, trigger, reclaim, diedContainerIds, runtime }: Found,
      parts: Omit<InventoryParts, 'diedContainerIds'>,
    ): Inventory =>
      inventoryOf(
        {
          type: 'fleetgc.node.inventory',
          version: 1,
          id: nextId('inventory'),
          ...identity,
          takenAt: scan.takenAt,
          agentStartedAt: startedAt,
          trigger,
          reclaim,
          nodeLabels: { ...nodeLabels },
          commandVersions: [...ACCEPTED_COMMAND_VERSIONS],
          runtime: { name: runtime.name, version: runtime.version },
          filesystems: scan.readings,
        },
        scan,
        { ...parts, diedContainerIds },
      ),
  };
}

/** What every inventory says, whatever was found. */
type InventoryHeader = Omit<Extract<Inventory, { status: 'incomplete' }>, 'status' | 'problems'>;

/** What beside the scan an inventory is made of. */
export interface InventoryParts extends ImageContents {
  readonly backoff: BackoffEntries;
  readonly diedContainerIds: readonly string[];
  /** Why the image history could not be read at the start; `null` when it could, or it was reported before. */
  readonly historyUnreadable: string | null;
}

/**
 * The inventory of one scan: complete, incomplete with what was missing, or counts only beyond the limits. Layers only
 * make a plan more exact, so they are left out before that.
 */
export function inventoryOf(header: InventoryHeader, scan: NodeScan, parts: InventoryParts): Inventory {
  const problems = [...problemsOf(scan), ...problemsOfHistory(parts)];
  if (scan.status === 'incomplete' || problems.length > 0) {
    return { ...header, status: 'incomplete', problems };
  }
  const inventory = completeInventory(header, scan, parts);
  const json = JSON.stringify(inventory);
  const broken = problemsOfTexts(inventory, json);
  if (broken.length > 0) return { ...header, status: 'incomplete', problems: broken };
  const counts = countsOf(inventory, json);
  if (!isTooLarge(inventory, counts, json)) {
    const unread = whyUnread('inventory', inventory, json);
    return unread === null ? inventory : { ...header, status: 'incomplete', problems: [unreadable(unread)] };
  }
  return parts.layers === null
    ? { ...header, status: 'too-large', counts }
    : inventoryOf(header, scan, { ...parts, layers: null });
}

/**
 * A filesystem that cannot be measured makes no inventory incomplete: what needs its free space does not believe a missing
 * reading (A1), and dead containers and images by age need none.
 */
const problemsOf = (scan: NodeScan): readonly ListingProblem[] =>
  scan.status === 'incomplete' ? [...scan.problems, ...unreadableFilesystems(scan.readings)] : [];

const unreadableFilesystems = (readings: FilesystemReadings): ListingProblem[] =>
  (['nodefs', 'imagefs', 'containerfs'] satisfies FilesystemName[])
    .filter((name) => readings[name] === null)
    .map((name) => ({
      code: 'filesystem-unreadable',
      message: `The filesystem ${name} cannot be measured.`,
    }));

const problemsOfHistory = ({ historyUnreadable }: InventoryParts): ListingProblem[] =>
  historyUnreadable === null
    ? []
    : [
        {
          code: 'history-unreadable',
          message: `All images count as just detected from here on: ${historyUnreadable}`,
        },
      ];

const MOST_TEXTS = 5;

/** Nothing can be said of such an object, not even that it stays, so nothing is said of any. */
const problemsOfTexts = (inventory: CompleteInventory, json: string): ListingProblem[] =>
  (mayHaveBrokenText(json) ? brokenTexts(inventory) : []).slice(0, MOST_TEXTS).map(({ text }) => ({
    code: 'value-out-of-range',
    message: `A name has half a character, which no decision can hold: ${text}. Remove or rename what has it.`,
  }));

const unreadable = (why: string): ListingProblem => ({
  code: 'value-out-of-range',
  message: `No decision service would read this inventory: ${why}`,
});

function completeInventory(
  header: InventoryHeader,
  scan: CompleteScan,
  { backoff, diedContainerIds, layers, originOf }: InventoryParts,
): CompleteInventory {
  const { listing, usage } = scan;
  const backoffOf = backoffLookup(backoff, header.takenAt);
  const died = new Set(diedContainerIds);
  return {
    ...header,
    status: 'complete',
    allSourcesReady: scan.allSourcesReady,
    containersWithoutImage: [...usage.containersWithoutImage],
    diedContainerIds: listing.containers
      .filter(({ id, state }) => died.has(id) && state !== 'running')
      .map(({ id }) => id),
    sandboxImageKnown: usage.sandboxImageKnown,
    clockSteadySinceMs: scan.clockSteadySinceMs,
    imagesWatchedSinceMs: wallTimeOf(scan.watchedSinceMs, scan.takenAt),
    podImagesKnown: usage.podImagesKnown,
    images: listing.images.map((image) => inventoryImage(image, scan, { backoffOf, layers, originOf })),
    layers: layers && [...layers.layers],
    containers: listing.containers.map((container) => inventoryContainer(container, backoffOf)),
    sandboxes: listing.sandboxes.map((sandbox) => inventorySandbox(sandbox, backoffOf)),
    pods: [...scan.pods],
    podLogDirectories:
      scan.podLogs.podLogDirectories?.map((name) => inventoryPodLogDirectory(name, backoffOf)) ?? null,
    logSymlinks:
      scan.podLogs.danglingSymlinks &&
      inventoryLogSymlinks(scan.podLogs.danglingSymlinks, listing.containers, backoffOf),
  };
}

type Counts = Extract<Inventory, { status: 'too-large' }>['counts'];

/** `bytes` is 0 where the number of objects alone is too large: nobody waits for their compression. */
function countsOf(inventory: CompleteInventory, json: string): Counts {
  const isSizeAsked = objectsIn(inventory) <= MAX_INVENTORY_OBJECTS;
  return {
    images: inventory.images.length,
    containers: inventory.containers.length,
    sandboxes: inventory.sandboxes.length,
    bytes: isSizeAsked ? publishedBytes(json) : 0,
  };
}

/** What is small enough as it is need not be compressed to know it. */
function publishedBytes(json: string): number {
  const bytes = Buffer.byteLength(json);
  return bytes <= MAX_INVENTORY_COMPRESSED_BYTES ? bytes : zstdCompressSync(Buffer.from(json)).length;
}

/** Which kinds count; entries of log directories are bounded where they are listed. */
const IS_COUNTED: Readonly<Record<ObjectKind, boolean>> = {
  container: true,
  sandbox: true,
  'pod-log-directory': false,
  'log-symlink': false,
  image: true,
};

const objectsIn = (inventory: CompleteInventory): number =>
  ObjectKind.options
    .filter((kind) => IS_COUNTED[kind])
    .reduce((sum, kind) => sum + entriesOf(inventory, kind).length, 0);

const isTooLarge = (inventory: CompleteInventory, { bytes }: Counts, json: string): boolean =>
  objectsIn(inventory) > MAX_INVENTORY_OBJECTS ||
  bytes > MAX_INVENTORY_COMPRESSED_BYTES ||
  whyTooLarge(TOPICS.inventory.name, json) !== null;

export type BackoffEntries = BackoffFile['objects'];
type Kind = BackoffEntries[number]['kind'];
type BackoffOf = (kind: Kind, id: string) => z.infer<typeof Backoff> | null;

interface BesideScan extends ImageContents {
  readonly backoffOf: BackoffOf;
}

function inventoryImage(
  image: ListedImage,
  scan: CompleteScan,
  { backoffOf, layers, originOf }: BesideScan,
): InventoryImage {
  const { takenAt, usage } = scan;
  const { firstDetectedMs, lastUsedMs } = recordOf(image, scan);
  return {
    id: image.id,
    repoTags: [...image.repoTags],
    repoDigests: [...image.repoDigests],
    sizeBytes: Number(image.sizeBytes),
    pinned: image.pinned,
    runtimeHandler: image.runtimeHandler,
    labels: image.labels,
    firstDetectedMs: wallTimeOf(firstDetectedMs, takenAt),
    lastUsedMs: lastUsedMs === null ? null : wallTimeOf(lastUsedMs, takenAt),
    usedBy: [...(usage.users.get(image.id) ?? [])],
    backoff: backoffOf('image', image.id),
    layers: positionsOf(image, layers),
    ...doubtfulOrigin(originOf(image.id)),
  };
}

/** One that was pulled has nothing to say of it (M12). */
const doubtfulOrigin = (origin: ImageOrigin | undefined): Pick<InventoryImage, 'origin'> =>
  origin === undefined || origin === 'pulled' ? {} : { origin };

function positionsOf({ id }: ListedImage, layers: LayerTable | null): InventoryImage['layers'] {
  const positions = layers?.ofImage.get(id);
  return positions ? [...positions] : null;
}

function inventoryContainer(container: ListedContainer, backoffOf: BackoffOf): InventoryContainer {
  const { id, name, attempt, sandboxId, state, createdAtNs, finishedAtNs, logPath, labels } = container;
  return {
    id,
    name,
    attempt,
    pod: podOf(labels),
    sandboxId,
    state,
    createdAtNs: String(createdAtNs),
    finishedAtNs: finishedAtNs === null ? null : String(finishedAtNs),
    imageId: imageNamedBy(container),
    logPath,
    backoff: backoffOf('container', id),
  };
}

function inventorySandbox(sandbox: ListedSandbox, backoffOf: BackoffOf): InventorySandbox {
  const { id, attempt, podUid, state, createdAtNs, labels } = sandbox;
  return {
    id,
    attempt,
    podUid,
    pod: podOf(labels),
    state,
    createdAtNs: String(createdAtNs),
    backoff: backoffOf('sandbox', id),
  };
}

/** Where one of the kubelet's labels is missing, the object is not the kubelet's (A12, M41). */
function podOf(labels: Readonly<Record<string, string>>): z.infer<typeof PodReference> | null {
  const uid = labels['io.kubernetes.pod.uid'];
  const name = labels['io.kubernetes.pod.name'];
  const namespace = labels['io.kubernetes.pod.namespace'];
  return uid && name && namespace ? { uid, name, namespace } : null;
}

const imageNamedBy = ({ imageId, imageRef, image }: ListedContainer): string =>
  [imageId, imageRef, image.image, image.userSpecifiedImage].find((name) => name !== '') ?? '';

/** A time further away than any backoff lasts was written under another clock, and has no force. */
function backoffLookup(entries: BackoffEntries, { wallTimeMs }: Instant): BackoffOf {
  const byObject = new Map(entries.map((entry) => [`${entry.kind}/${entry.id}`, entry]));
  return (kind, id) => {
    const entry = byObject.get(`${kind}/${id}`);
    if (!entry) return null;
    const { failures, untilMs } = entry;
    return { failures, untilMs: untilMs <= wallTimeMs + MAX_BACKOFF_MS ? untilMs : 0 };
  };
}
