import type { z } from 'zod';
import type { LayerTable } from '../../../packages/cri/containerd/image-layers.ts';
import type { ListedContainer, ListedImage, ListedSandbox } from '../../../packages/cri/listing-types.ts';
import type {
  InventoryContainer,
  InventoryImage,
  InventorySandbox,
  PodReference,
} from '../../../schemas/events/inventory.ts';
import type { Backoff } from '../../../schemas/events/object-kinds.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import { type BackoffFile, MAX_BACKOFF_MS } from '../../../schemas/state/backoff.ts';
import { imageKey } from '../images/detection.ts';
import { wallTimeOf } from '../images/image-history.ts';
import type { DetectedImage, ImageContents, ImageOrigin } from './content-reading.ts';
import type { CompleteLook } from './look.ts';

export type BackoffEntries = BackoffFile['objects'];
type Kind = BackoffEntries[number]['kind'];
type BackoffOf = (kind: Kind, id: string) => z.infer<typeof Backoff> | null;

interface BesideLook extends ImageContents {
  readonly backoffOf: BackoffOf;
}

/** An image without a record counts as just detected (M1). */
const recordOf = (image: ListedImage, { records, takenAt }: CompleteLook) =>
  records.get(imageKey(image)) ?? { firstDetectedMs: takenAt.sinceBootMs, lastUsedMs: null };

/** The images of a look, each with its first detection in milliseconds since boot. */
export const detectedImages = (look: CompleteLook): readonly DetectedImage[] =>
  look.listing.images.map((image) => ({ ...image, firstDetectedMs: recordOf(image, look).firstDetectedMs }));

export function inventoryImage(
  image: ListedImage,
  look: CompleteLook,
  { backoffOf, layers, originOf }: BesideLook,
): InventoryImage {
  const { takenAt, usage } = look;
  const { firstDetectedMs, lastUsedMs } = recordOf(image, look);
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

/** A time further away than any back-off lasts was written under another clock, and has no force. */
export function backoffLookup(entries: BackoffEntries, { wallTimeMs }: Instant): BackoffOf {
  const byObject = new Map(entries.map((entry) => [`${entry.kind}/${entry.id}`, entry]));
  return (kind, id) => {
    const entry = byObject.get(`${kind}/${id}`);
    if (!entry) return null;
    const { failures, untilMs } = entry;
    return { failures, untilMs: untilMs <= wallTimeMs + MAX_BACKOFF_MS ? untilMs : 0 };
  };
}
