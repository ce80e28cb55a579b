import { zstdCompressSync } from 'node:zlib';
import pLimit from 'p-limit';
import type { Logger } from 'pino';
import type { z } from 'zod';
import { deriveId, sha256Hex } from '../../../packages/canonical/ids.ts';
import type { LayerTable } from '../../../packages/cri/containerd/image-layers.ts';
import type { PodSource } from '../../../packages/cri/kubelet/pod-source.ts';
import { createListingMemory, readListing } from '../../../packages/cri/listing.ts';
import type {
  CompleteListing,
  ListedContainer,
  ListedImage,
  ListedSandbox,
  Listing,
  ListingProblem,
} from '../../../packages/cri/listing-types.ts';
import type { RuntimeReader, RuntimeVersion } from '../../../packages/cri/port.ts';
import { type ImageUsage, imageUsage } from '../../../packages/cri/usage.ts';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import { entriesOf } from '../../../packages/decision/inventory-entries.ts';
import type { ReadOnlyFile } from '../../../packages/files/fixed-file.ts';
import type { NodeClock } from '../../../packages/machine/clock.ts';
import type { FilesystemReader } from '../../../packages/machine/filesystem.ts';
import type { StateDirectory } from '../../../packages/machine/state-directory.ts';
import type { Sleep } from '../../../packages/process/backoff.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import { createWakeSignal } from '../../../packages/process/loops.ts';
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
import { podUidOfLogDirectory } from '../../../schemas/events/pod-log-entries.ts';
import type { Reclaim } from '../../../schemas/events/reclaim.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { BACKOFF_FILE, BackoffFile, MAX_BACKOFF_MS } from '../../../schemas/state/removal-backoff.ts';
import { REMOVED_IMAGES_FILE, RemovedImagesFile } from '../../../schemas/state/removed-images.ts';
import {
  type ContentReading,
  type DetectedImage,
  type ImageContents,
  type ImageOrigin,
  NO_CONTENTS,
} from './contents.ts';
import type { DiskFacts, DiskWatch } from './disks.ts';
import {
  type Detected,
  type History,
  imageKey,
  type RemovedImage,
  type SeenImages,
  wallTimeOf,
} from './history.ts';
import type { AgentMetrics } from './metrics.ts';
import {
  begin,
  due,
  expire,
  type Facts,
  finish,
  INITIAL_PACING,
  type Order,
  type OrderOutcome,
  onDeaths,
  onOrder,
  type Work,
} from './pacing.ts';
import {
  inventoryLogSymlinks,
  inventoryPodLogDirectory,
  type PodLogEntries,
  type PodLogReader,
} from './pod-logs.ts';
import type { KubeletSource, PodState, PodWatch, RuntimePods } from './pods.ts';
import type { FactSpans, PublishQueue } from './publish.ts';

/** What a scan reads. It is only the reading half of the runtime. */
interface Scanned {
  readonly runtime: RuntimeReader;
  readonly filesystems: FilesystemReader;
  readonly podLogs: PodLogReader;
  readonly clock: NodeClock;
}

/** What an agent, or an executor on its own, reads of its node. */
export interface NodeSources extends Scanned {
  readonly identity: NodeIdentity;
  readonly nodeLabels: Readonly<Record<string, string>>;
  /** What is told of images beside CRI. */
  readonly contents: ContentReading;
  /** `null`: there is no source, and every pod is unknown. */
  readonly pods: PodSource | null;
  /** The kubelet's sources that must have delivered before a pod can be gone; `api` except on a standalone node. */
  readonly podSources: readonly KubeletSource[];
  readonly logger: Logger;
}

/** With whom inventories are taken. */
interface Collaborators {
  readonly scan: () => Promise<NodeScan>;
  readonly disks: DiskWatch;
  readonly history: History;
  readonly runtime: RuntimeReader;
  readonly contentsOf: ContentsOfScan;
  readonly backoff: () => BackoffEntries;
  readonly events: AgentEvents;
  readonly queue: PublishQueue;
  /** `null`: nobody traces. */
  readonly spans: FactSpans | null;
  readonly metrics: AgentMetrics;
  readonly clock: NodeClock;
  readonly sleep: Sleep;
  readonly logger: Logger;
}

const CHECK_AGAIN_MS = 1_000;
const UNKNOWN_RUNTIME: RuntimeName = { name: 'unknown', version: '' };

/**
 * The life of an inventory, from the reason to take one until it is on its way to the log. When the process ends before that,
 * nothing is lost: the next one takes an inventory at its start, and an order that waited comes again from the log.
 * The functions are properties, since they are passed on by themselves.
 */
export class Inventories {
  readonly #with: Collaborators;
  readonly #wakeSignal: ReturnType<typeof createWakeSignal>;
  #pacing = INITIAL_PACING;
  #last: NodeScan | null = null;
  #lastComplete: CompleteScan | null = null;
  #fingerprint: string | null = null;
  #runtime = UNKNOWN_RUNTIME;
  /** Why the history could not be read at the start; `null` when it could, or that was published. */
  #historyUnreadable: string | null;

  constructor(collaborators: Collaborators) {
    this.#with = collaborators;
    this.#wakeSignal = createWakeSignal(collaborators.sleep);
    this.#historyUnreadable = collaborators.history.unreadable;
  }

  /** An order that was checked. */
  readonly accept = (order: Order): OrderOutcome => {
    const [next, outcome] = onOrder(this.#pacing, order);
    this.#pacing = next;
    this.#wakeSignal.wake();
    return outcome;
  };

  /** Containers that died, as the runtime's events say. */
  readonly died = (ids: readonly string[]): void => {
    this.#pacing = onDeaths(this.#pacing, ids, this.#nowMs());
    this.#wakeSignal.wake();
  };

  /** A scan for its own sake: what is in use, what died, what changed. */
  readonly detect = async (): Promise<void> => {
    await this.#scan();
    this.#wakeSignal.wake();
  };

  /** The last scan, whatever it was for. */
  readonly lastScan = (): NodeScan | null => this.#last;

  /** Takes inventories until the signal aborts. */
  readonly run = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      this.#dropExpired();
      // 1. Why now: an order, a death, a change, or its time (`pacing.ts`).
      const facts: Facts = { fingerprint: this.#fingerprint, readings: this.#with.disks.readings() };
      const next = due(this.#pacing, facts, this.#nowMs());
      if (next.kind === 'work') await this.#take(next.work);
      else await this.#wakeSignal.wait(this.#waitMs(next.untilMs), signal);
    }
  };

  async #take(work: Work): Promise<void> {
    const { history, contentsOf, events, backoff, metrics, logger } = this.#with;
    this.#pacing = begin(this.#pacing, work);

    // 2. Scan, and 3. note in the history what was seen. The executor keeps what it finds no record of, so the records go
    // ahead of the inventory that shows them.
    const found = await this.#scan();
    history.save('due');

    // 4. Layers and origins of images, for which nobody waits long.
    const runtime = await this.#runtimeName();
    const contents = await contentsOf(found);

    // 5. Make the event: complete, incomplete, or too large.
    const { trigger, order, diedContainerIds } = work;
    const event = events.inventory(
      { scan: found, trigger, reclaim: order?.reclaim ?? null, diedContainerIds, runtime },
      { backoff: backoff(), historyUnreadable: this.#historyUnreadable, ...contents },
    );
    metrics.inventories.add({ trigger: event.trigger, status: event.status });
    report(event, logger);

    // 6. Queue it; the newest one alone waits for the log.
    this.#queue(event, work);

    // 7. When the next is due.
    const isComplete = event.status !== 'incomplete' && found.status !== 'incomplete';
    const facts: Facts = { fingerprint: isComplete ? fingerprintOf(found) : null, readings: found.readings };
    this.#pacing = finish(this.#pacing, work, facts, this.#nowMs());
  }

  async #scan(): Promise<NodeScan> {
    const found = await this.#with.scan();
    this.#last = found;
    this.#with.metrics.looks.add({ status: found.status });
    if (found.status === 'incomplete') return found;
    this.#pacing = onDeaths(this.#pacing, diedSince(this.#lastComplete, found), this.#nowMs());
    this.#lastComplete = found;
    this.#fingerprint = fingerprintOf(found);
    return found;
  }

  /** For people; a runtime that does not answer keeps the version it had. */
  async #runtimeName(): Promise<RuntimeName> {
    try {
      this.#runtime = await this.#with.runtime.version();
    } catch {
      // The scan says what is wrong with the runtime.
    }
    return this.#runtime;
  }

  #queue(event: Inventory, { order }: Work): void {
    const { queue, spans } = this.#with;
    const reported = this.#historyUnreadable;
    const traced = order?.trace && (spans?.answer(event, order.trace) ?? { trace: order.trace });
    queue.put({
      output: nodeOutput('inventory', event),
      ...traced,
      onPublished: () => {
        if (reported !== null) this.#historyUnreadable = null;
        if (traced && 'onPublished' in traced) traced.onPublished();
      },
    });
  }

  /** What an order waits for can end with any sample of the disks. */
  #waitMs(untilMs: number): number {
    return Math.min(
      untilMs - this.#nowMs(),
      this.#pacing.pending ? CHECK_AGAIN_MS : Number.POSITIVE_INFINITY,
    );
  }

  #dropExpired(): void {
    const [kept, expired] = expire(this.#pacing, this.#nowMs());
    this.#pacing = kept;
    if (expired) this.#with.metrics.orders.add({ outcome: 'expired' });
  }

  #nowMs(): number {
    return this.#with.clock.now().sinceBootMs;
  }
}

function report(event: Inventory, logger: Logger): void {
  const about = { inventoryId: event.id, trigger: event.trigger };
  switch (event.status) {
    case 'complete':
      logger.debug(about, 'inventory complete');
      break;
    case 'incomplete':
      logger.warn({ ...about, problems: event.problems }, 'inventory incomplete: nothing is removed on it');
      break;
    case 'too-large':
      logger.warn(
        { ...about, counts: event.counts },
        'inventory too large to be read: only counts are published, and nothing is removed on it',
      );
  }
}

/** All that one scan of the node found. */
export type NodeScan = CompleteScan | IncompleteScan;

interface ScanHeader {
  /** Read before the first fact. */
  readonly takenAt: Instant;
  readonly readings: FilesystemReadings;
}

export interface CompleteScan extends ScanHeader, Detected {
  readonly status: 'complete';
  readonly listing: CompleteListing;
  readonly usage: ImageUsage;
  /** Since when nobody has set the wall clock, in epoch milliseconds on that of `takenAt`. */
  readonly clockSteadySinceMs: number;
  readonly pods: readonly PodState[];
  readonly allSourcesReady: boolean;
  readonly podLogs: PodLogEntries;
}

export interface IncompleteScan extends ScanHeader {
  readonly status: 'incomplete';
  readonly problems: readonly ListingProblem[];
}

/** A busy node changes while it is read; after that many attempts it is said so. */
const LISTING_ATTEMPTS = 3;

/**
 * Scans the node: a detection (C3) and everything an inventory needs. One scan at a time. A scan that fails in part
 * changes no record (C6).
 */
export function createNodeScanner(
  { runtime, filesystems, podLogs: readLogs, clock }: Scanned,
  pods: PodWatch,
  history: SeenImages,
): () => Promise<NodeScan> {
  const memory = createListingMemory();
  const oneAtATime = pLimit(1);
  const scan = async (): Promise<NodeScan> => {
    // The clock first: nothing that is found is older.
    const takenAt = clock.now();
    const readings = await filesystems.read();
    const listing = await listPatiently(() => readListing(runtime, memory));
    if (listing.status === 'incomplete') return { ...listing, takenAt, readings };
    const podLogs = await readLogs();
    const { wanted, ...knownPods } = await pods.ask(withPodLogs(podsOfRuntime(listing), podLogs));
    const usage = imageUsage(listing, wanted);
    const detected = history.detect(listing.images, imagesInUse(usage), clock.now());
    const clockSteadySinceMs = history.clockSteadySinceMs(takenAt);
    return {
      status: 'complete',
      takenAt,
      readings,
      listing,
      usage,
      ...detected,
      clockSteadySinceMs,
      podLogs,
      ...knownPods,
    };
  };
  return () => oneAtATime(scan);
}

async function listPatiently(list: () => Promise<Listing>): Promise<Listing> {
  let listing = await list();
  for (let attempt = 1; attempt < LISTING_ATTEMPTS && changedMeanwhile(listing); attempt++) {
    listing = await list();
  }
  return listing;
}

const changedMeanwhile = (listing: Listing): boolean =>
  listing.status === 'incomplete' &&
  listing.problems.some(({ code }) => code === 'runtime-changed-meanwhile');

/** Of a pod whose directory of logs is left, too, it is to be told whether it is gone: the kubelet knows it before. */
const withPodLogs = (pods: RuntimePods, { podLogDirectories }: PodLogEntries): RuntimePods => ({
  ...pods,
  uids: new Set([...pods.uids, ...(podLogDirectories ?? []).map(podUidOfLogDirectory)]),
});

const imagesInUse = ({ users }: ImageUsage): Set<string> =>
  new Set([...users].filter(([, usedBy]) => usedBy.length > 0).map(([id]) => id));

/** The kubelet's label; what has none is not the kubelet's (A12, M41). */
const POD_UID_LABEL = 'io.kubernetes.pod.uid';

/** A sandbox's UID is taken from its metadata and its label alike: if they differ, both are in the runtime (A5). */
export function podsOfRuntime({ containers, sandboxes }: CompleteListing): RuntimePods {
  const ofContainers = containers.map(({ labels, state }) => ({
    uids: [labels[POD_UID_LABEL] ?? ''],
    active: state === 'running',
  }));
  const ofSandboxes = sandboxes.map(({ podUid, labels, state }) => ({
    uids: [podUid, labels[POD_UID_LABEL] ?? ''],
    active: state === 'ready',
  }));
  const all = [...ofContainers, ...ofSandboxes];
  const uidsOf = (objects: typeof all): Set<string> => new Set(objects.flatMap(({ uids }) => uids));
  return { uids: uidsOf(all), active: uidsOf(all.filter(({ active }) => active)) };
}

/** What of each kind of object a decision turns on, a row for each object. */
const ROWS: Readonly<Record<ObjectKind, (scan: CompleteScan) => readonly (readonly string[])[]>> = {
  container: ({ listing }) => listing.containers.map(({ id, state }) => [id, state]),
  sandbox: ({ listing }) => listing.sandboxes.map(({ id, state }) => [id, state]),
  // Logs follow their pods and containers, whose change is a reason to scan by itself.
  'pod-log-directory': () => [],
  'log-symlink': () => [],
  image: ({ listing }) =>
    listing.images.map(({ id, repoTags, repoDigests, pinned }) => [
      id,
      String(pinned),
      ...repoTags.toSorted(),
      ...repoDigests.toSorted(),
    ]),
};

/** Equal for scans between which nothing changed that a decision could turn on, in whatever order it was listed. */
export function fingerprintOf(scan: CompleteScan): string {
  const rows = [
    ...ObjectKind.options.flatMap((kind) => ROWS[kind](scan).map((row) => [kind, ...row])),
    ...scan.pods.map(({ uid, state, contentRemovable, runtimeRemovable }) => [
      'pod',
      uid,
      state,
      String(contentRemovable),
      String(runtimeRemovable),
    ]),
  ];
  return sha256Hex(JSON.stringify(rows.map((row) => row.join(' ')).toSorted()));
}

/** Ids of containers that ran in the scan before and run no more, as far as the runtime still has them. */
function diedSince(before: CompleteScan | null, { listing }: CompleteScan): string[] {
  const ran = new Set(
    before?.listing.containers.filter(({ state }) => state === 'running').map(({ id }) => id),
  );
  return listing.containers.filter(({ id, state }) => ran.has(id) && state !== 'running').map(({ id }) => id);
}

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

type RuntimeName = Pick<RuntimeVersion, 'name' | 'version'>;

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

/** An image without a record counts as just detected (M1). */
const recordOf = (image: ListedImage, { records, takenAt }: CompleteScan) =>
  records.get(imageKey(image)) ?? { firstDetectedMs: takenAt.sinceBootMs, lastUsedMs: null };

/** The images of a scan, each with its first detection in milliseconds since boot. */
export const detectedImages = (scan: CompleteScan): readonly DetectedImage[] =>
  scan.listing.images.map((image) => ({ ...image, firstDetectedMs: recordOf(image, scan).firstDetectedMs }));

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

type Reading = Pick<StateDirectory, 'openReadOnly'>;

/**
 * Reads the executor's table of failing objects. Without it none is reported: the executor, which has the last word,
 * still leaves them alone.
 */
export function backoffReader(state: Reading, logger: Logger): () => BackoffEntries {
  const file = state.openReadOnly(BACKOFF_FILE, BackoffFile);
  const read = readable(file, 'backoff table unreadable: none is reported', logger);
  return () => read()?.objects ?? [];
}

/** Reads what the executor removed lately. Without it an image that is pulled again at once keeps its record. */
export function removedImagesReader(state: Reading, logger: Logger): () => readonly RemovedImage[] {
  const file = state.openReadOnly(REMOVED_IMAGES_FILE, RemovedImagesFile);
  const read = readable(file, 'removed images unreadable: one that comes back at once keeps its age', logger);
  return () => read()?.images ?? [];
}

/** `null` also while the file cannot be read, which is logged once. */
function readable<T>(file: ReadOnlyFile<T>, unreadable: string, logger: Logger): () => T | null {
  let problem: string | null = null;
  return () => {
    try {
      const content = file.read();
      problem = null;
      return content;
    } catch (error) {
      const { message } = toFleetGcError(error);
      if (problem !== message) logger.warn({ problem: message }, unreadable);
      problem = message;
      return null;
    }
  };
}

/** What containerd tells of the images of a scan; of one that is incomplete nobody is asked. Never rejects. */
export type ContentsOfScan = (scan: NodeScan) => Promise<ImageContents>;

/** Asks once for each scan: the answer belongs to its moment, whoever wants it. */
export function contentsOfScans(contentsOf: ContentReading): ContentsOfScan {
  const asked = new WeakMap<NodeScan, Promise<ImageContents>>();
  return (scan) => {
    const contents =
      asked.get(scan) ??
      (scan.status === 'complete' ? contentsOf(detectedImages(scan)) : Promise.resolve(NO_CONTENTS));
    asked.set(scan, contents);
    return contents;
  };
}
