import pLimit from 'p-limit';
import type { Logger } from 'pino';
import { sha256Hex } from '../../../packages/canonical/ids.ts';
import type { PodSource } from '../../../packages/cri/kubelet/pod-source.ts';
import { createListingMemory, readListing } from '../../../packages/cri/listing.ts';
import type {
  CompleteListing,
  ListedImage,
  Listing,
  ListingProblem,
} from '../../../packages/cri/listing-types.ts';
import type { RuntimeReader } from '../../../packages/cri/port.ts';
import { type ImageUsage, imageUsage } from '../../../packages/cri/usage.ts';
import type { NodeClock } from '../../../packages/machine/clock.ts';
import type { FilesystemReader } from '../../../packages/machine/filesystem.ts';
import type { FilesystemReadings } from '../../../schemas/events/filesystem.ts';
import type { NodeIdentity } from '../../../schemas/events/identity.ts';
import { ObjectKind } from '../../../schemas/events/object-kinds.ts';
import { podUidOfLogDirectory } from '../../../schemas/events/pod-log-entries.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import { type ContentReading, type DetectedImage, type ImageContents, NO_CONTENTS } from './contents.ts';
import { type Detected, imageKey, type SeenImages } from './history.ts';
import type { PodLogEntries, PodLogReader } from './pod-logs.ts';
import type { KubeletSource, PodState, PodWatch, RuntimePods } from './pods.ts';

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
export function diedSince(before: CompleteScan | null, { listing }: CompleteScan): string[] {
  const ran = new Set(
    before?.listing.containers.filter(({ state }) => state === 'running').map(({ id }) => id),
  );
  return listing.containers.filter(({ id, state }) => ran.has(id) && state !== 'running').map(({ id }) => id);
}

/** An image without a record counts as just detected (M1). */
export const recordOf = (image: ListedImage, { records, takenAt }: CompleteScan) =>
  records.get(imageKey(image)) ?? { firstDetectedMs: takenAt.sinceBootMs, lastUsedMs: null };

/** The images of a scan, each with its first detection in milliseconds since boot. */
export const detectedImages = (scan: CompleteScan): readonly DetectedImage[] =>
  scan.listing.images.map((image) => ({ ...image, firstDetectedMs: recordOf(image, scan).firstDetectedMs }));

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
