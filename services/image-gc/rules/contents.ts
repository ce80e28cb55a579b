import type { CompleteInventory, InventoryImage } from '../../../schemas/inventory.ts';
import type { Policy } from '../../../schemas/policy.ts';

/** What images consist of, in pieces that lie on the disk once, however many images have them (M7, M40). */
export interface Contents {
  /** Numbers of its pieces, by the position of the image in the inventory. */
  readonly pieces: readonly (readonly number[])[];
  /** What a piece takes, by its number. */
  readonly bytes: readonly number[];
}

/** The table of an inventory. */
type Layers = CompleteInventory['layers'];

/** Bytes of the image at a position. */
export type BytesAt = (position: number) => bigint;

/**
 * Layers where the inventory tells them. An image of which they are not known, or not believed, is one piece of its listed
 * size; so is every image to the kubelet (D14).
 */
export function contentsOf(
  { images, layers }: Pick<CompleteInventory, 'images' | 'layers'>,
  { profile }: Pick<Policy, 'profile'>,
): Contents {
  const told = profile === 'kubelet' ? null : layers;
  const bytes = (told ?? []).map(({ sizeBytes }) => sizeBytes);
  const wholes = new Map<string, number>();
  const whole = ({ id, sizeBytes }: InventoryImage): number => {
    const piece = wholes.get(id) ?? bytes.length;
    wholes.set(id, piece);
    bytes[piece] = Math.max(sizeBytes, bytes[piece] ?? 0);
    return piece;
  };
  return { pieces: images.map((image) => layersIn(image, told) ?? [whole(image)]), bytes };
}

/** `undefined` where they are not known, or one of them is not in the table. */
function layersIn(image: InventoryImage, told: Layers): readonly number[] | undefined {
  return image.layers === null || told === null || hasUnknownLayer(image, told) ? undefined : image.layers;
}

/** Whether it names a layer that is not in the table, which cannot be. */
export const hasUnknownLayer = ({ layers }: InventoryImage, told: Layers): boolean =>
  (layers ?? []).some((layer) => layer >= (told?.length ?? 0));

/**
 * What the removal of an image frees once all that were asked for before are gone: the pieces that no other image has any
 * more. Asked once for each image that goes.
 */
export function freeing(contents: Contents): BytesAt {
  const holders = new Uint32Array(contents.bytes.length);
  for (const ofImage of contents.pieces) for (const piece of ofImage) add(holders, piece, 1);
  return sumOf(contents, (piece) => add(holders, piece, -1) === 0);
}

/** What an image has that none has that was asked for before. */
export function countingOnce(contents: Contents): BytesAt {
  const counted = new Uint32Array(contents.bytes.length);
  return sumOf(contents, (piece) => add(counted, piece, 1) === 1);
}

function add(counts: Uint32Array, piece: number, change: 1 | -1): number {
  const count = (counts[piece] ?? 0) + change;
  counts[piece] = count;
  return count;
}

function sumOf({ pieces, bytes }: Contents, isMeant: (piece: number) => boolean): BytesAt {
  return (position) => {
    let sum = 0n;
    for (const piece of pieces[position] ?? []) if (isMeant(piece)) sum += BigInt(bytes[piece] ?? 0);
    return sum;
  };
}

/** What all images take together. */
export function bytesOfAll(contents: Contents): bigint {
  const uncounted = countingOnce(contents);
  return contents.pieces.reduce((sum, _, position) => sum + uncounted(position), 0n);
}
