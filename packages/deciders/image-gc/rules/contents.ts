import type { CompleteInventory, InventoryImage } from '../../../../schemas/events/inventory.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';

/** What images consist of, in pieces that lie on the disk once, however many images have them (M7, M40). */
export interface Contents {
  /** Numbers of its pieces, by the position of the image in the inventory. */
  readonly pieces: readonly (readonly number[])[];
  /** What a piece takes, by its number. */
  readonly bytes: readonly number[];
}

/** The table of an inventory. */
type Layers = CompleteInventory['layers'];

/** An image by its position in the inventory. */
interface Positioned {
  readonly position: number;
}

/** Bytes of the image at a position. */
export type BytesAt = (position: number) => bigint;

/**
 * Layers where the inventory tells them. An image of which they are not known, or not believed, is one piece of its listed
 * size; so is every image to the kubelet (D14). Of an id that is listed twice there is one piece, as large as the larger.
 */
export function contentsOf(
  { images, layers }: Pick<CompleteInventory, 'images' | 'layers'>,
  { profile }: Pick<Policy, 'profile'>,
  listedTwice: ReadonlySet<string>,
): Contents {
  const reported = profile === 'kubelet' ? null : layers;
  const ofLayers = (reported ?? []).map(({ sizeBytes }) => sizeBytes);
  const doubled = new Map([...listedTwice].map((id, index) => [id, ofLayers.length + index] as const));
  const bytes = [...ofLayers, ...Array.from(doubled, () => 0)];
  const whole = ({ id, sizeBytes }: InventoryImage): number => {
    const piece = (doubled.size === 0 ? undefined : doubled.get(id)) ?? bytes.length;
    bytes[piece] = Math.max(sizeBytes, bytes[piece] ?? 0);
    return piece;
  };
  return { pieces: images.map((image) => layersIn(image, reported) ?? [whole(image)]), bytes };
}

/** `undefined` where they are not known, or one of them is not in the table. */
function layersIn(image: InventoryImage, reported: Layers): readonly number[] | undefined {
  return image.layers === null || reported === null || hasUnknownLayer(image, reported)
    ? undefined
    : image.layers;
}

/** Whether it names a layer that is not in the table, which cannot be. */
export const hasUnknownLayer = ({ layers }: InventoryImage, reported: Layers): boolean =>
  layers?.some((layer) => layer >= (reported?.length ?? 0)) ?? false;

/**
 * What the removal of an image frees once all that were asked for before are gone: the pieces that no other image has any
 * more. Asked once for each image that goes.
 */
export function freeing({ pieces, bytes }: Contents): BytesAt {
  const holders = new Uint32Array(bytes.length);
  for (const ofImage of pieces) for (const piece of ofImage) add(holders, piece, 1);
  return (position) => {
    const sum = exactSum();
    for (const piece of pieces[position] ?? []) if (add(holders, piece, -1) === 0) sum.add(bytes[piece] ?? 0);
    return sum.total();
  };
}

/** What these images have together that none has that was counted before. */
export function countingOnce({ pieces, bytes }: Contents): (images: readonly Positioned[]) => bigint {
  const counted = new Uint32Array(bytes.length);
  const addNew = (ofImage: readonly number[], sum: ExactSum): void => {
    for (const piece of ofImage) if (add(counted, piece, 1) === 1) sum.add(bytes[piece] ?? 0);
  };
  return (images) => {
    const sum = exactSum();
    for (const { position } of images) addNew(pieces[position] ?? [], sum);
    return sum.total();
  };
}

function add(counts: Uint32Array, piece: number, change: 1 | -1): number {
  const count = (counts[piece] ?? 0) + change;
  counts[piece] = count;
  return count;
}

/** Of whole numbers, and exact at any size. */
interface ExactSum {
  add(bytes: number): void;
  total(): bigint;
}

/** Adding big integers takes ten times as long as adding numbers, so they hold only what numbers cannot. */
function exactSum(): ExactSum {
  let [beyond, sum] = [0n, 0];
  return {
    add: (bytes: number): void => {
      if (sum > Number.MAX_SAFE_INTEGER - bytes) {
        beyond += BigInt(sum);
        sum = 0;
      }
      sum += bytes;
    },
    total: (): bigint => beyond + BigInt(sum),
  };
}
