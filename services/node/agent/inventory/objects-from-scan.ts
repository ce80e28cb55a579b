import type { Logger } from 'pino';
import type { z } from 'zod';
import type { LayerTable } from '../../../../packages/cri/containerd/image-layers.ts';
import type { ListedContainer, ListedImage, ListedSandbox } from '../../../../packages/cri/listing-types.ts';
import type { ReadOnlyFile } from '../../../../packages/files/fixed-file.ts';
import type { StateDirectory } from '../../../../packages/machine/state-directory.ts';
import { toFleetGcError } from '../../../../packages/process/errors.ts';
import type {
  InventoryContainer,
  InventoryImage,
  InventorySandbox,
  PodReference,
} from '../../../../schemas/events/inventory.ts';
import type { Backoff } from '../../../../schemas/events/object-kinds.ts';
import type { Instant } from '../../../../schemas/events/time.ts';
import { BACKOFF_FILE, BackoffFile, MAX_BACKOFF_MS } from '../../../../schemas/state/removal-backoff.ts';
import { REMOVED_IMAGES_FILE, RemovedImagesFile } from '../../../../schemas/state/removed-images.ts';
import { imageKey, type RemovedImage, wallTimeOf } from '../images/image-history.ts';
import {
  type ContentReading,
  type DetectedImage,
  type ImageContents,
  type ImageOrigin,
  NO_CONTENTS,
} from './content-reading.ts';
import type { CompleteScan, NodeScan } from './node-scan.ts';

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

export function inventoryImage(
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

export function inventoryContainer(container: ListedContainer, backoffOf: BackoffOf): InventoryContainer {
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

export function inventorySandbox(sandbox: ListedSandbox, backoffOf: BackoffOf): InventorySandbox {
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
export function backoffLookup(entries: BackoffEntries, { wallTimeMs }: Instant): BackoffOf {
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
