import type { CompleteInventory, InventoryImage } from '../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import type { Doubt, KeepingDoubt } from '../../../decision/conclusion.ts';
import { doubtAbout } from '../../../decision/inventory-checks.ts';
import type { Eligibility } from './candidates.ts';
import { hasUnknownLayer } from './contents.ts';

/**
 * Facts whose lack keeps every image of the node. Which image new sandboxes need, and which images pods want, does not
 * matter to the kubelet (C10, C11).
 */
export function nodeDoubts(
  { containersWithoutImage, sandboxImageKnown, podImagesKnown }: CompleteInventory,
  { profile }: Policy,
): KeepingDoubt[] {
  const namelessContainers = doubtAbout(
    'C8',
    containersWithoutImage,
    'container(s) name no usable image, so any image may be theirs: none is removed',
  );
  return profile === 'kubelet'
    ? namelessContainers
    : [
        ...namelessContainers,
        ...(sandboxImageKnown ? [] : [SANDBOX_IMAGE_UNKNOWN]),
        ...(podImagesKnown ? [] : [POD_IMAGES_UNKNOWN]),
      ];
}

/** FleetGC counts how long an image was unused only from where it was watched on (E2, M2). */
export const watchDoubts = (
  { imagesWatchedSinceMs }: CompleteInventory,
  { profile, imageMaximumGCAgeMs }: Policy,
): KeepingDoubt[] =>
  profile === 'kubelet' || imageMaximumGCAgeMs === 0 || imagesWatchedSinceMs !== null
    ? []
    : [NOT_REPORTED_SINCE_WHEN];

const NOT_REPORTED_SINCE_WHEN: KeepingDoubt = {
  rule: 'E2',
  message: 'it is not told since when the use of images was watched: none is removed by age',
};

const SANDBOX_IMAGE_UNKNOWN: KeepingDoubt = {
  rule: 'M9',
  message:
    'it is not known which image new sandboxes need: no image is removed until the one that the runtime is configured with (pause) was pulled, or a pod runs',
};
const POD_IMAGES_UNKNOWN: KeepingDoubt = {
  rule: 'C10',
  message: 'it is not known which images pods want: no image is removed',
};

/** Facts that keep the images they are about; those about layers change only what images count (M7). */
export function imageDoubts(
  { images, takenAt, layers }: CompleteInventory,
  { profile }: Policy,
  { listedTwice }: Pick<Eligibility, 'listedTwice'>,
): Doubt[] {
  const { detectedLater, usedLater, ofUnknownLayers } = doubtful(images, layers, takenAt.wallTimeMs);
  return [
    ...doubtAbout('C5', [...listedTwice], 'image id(s) are listed more than once and kept'),
    ...doubtAbout(
      'M2',
      detectedLater,
      'image(s) were first detected after the inventory was taken and are kept',
    ),
    ...doubtAbout('D9', usedLater, 'image(s) were last used after the inventory was taken and are kept'),
    ...(profile === 'kubelet'
      ? []
      : doubtAbout(
          'M7',
          ofUnknownLayers,
          'image(s) name a layer that the inventory has not, and count by their listed sizes',
        )),
  ];
}

/** Ids of the images that each of the doubts is about. */
function doubtful(
  images: readonly InventoryImage[],
  reported: CompleteInventory['layers'],
  takenAtMs: number,
): Readonly<Record<'detectedLater' | 'usedLater' | 'ofUnknownLayers', readonly string[]>> {
  const [detectedLater, usedLater, ofUnknownLayers]: [string[], string[], string[]] = [[], [], []];
  for (const image of images) {
    const { id, firstDetectedMs, lastUsedMs } = image;
    if (firstDetectedMs > takenAtMs) detectedLater.push(id);
    if (lastUsedMs !== null && lastUsedMs > takenAtMs) usedLater.push(id);
    if (hasUnknownLayer(image, reported)) ofUnknownLayers.push(id);
  }
  return { detectedLater, usedLater, ofUnknownLayers };
}
