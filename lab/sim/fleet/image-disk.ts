import type { LayerTable } from '../../../packages/cri/containerd/image-layers.ts';
import type { FilesystemReading, FilesystemReadings } from '../../../schemas/events/filesystem.ts';
import type { CatalogueImage, CataloguePiece } from './fleet-catalogue.ts';

export interface HeldImage {
  readonly image: CatalogueImage;
  readonly sinceMs: number;
  lastUsedMs: number | null;
}

/** The images of a node on its one disk: what several have in common lies there once. */
export interface ImageDisk {
  readonly capacityBytes: bigint;
  /** By id. */
  readonly images: Map<string, HeldImage>;
  /** How many images have a piece. */
  readonly holders: Map<CataloguePiece, number>;
  /** What their pieces take, each once. */
  imageBytes: bigint;
}

export const emptyImageDisk = (capacityBytes: bigint): ImageDisk => ({
  capacityBytes,
  images: new Map(),
  holders: new Map(),
  imageBytes: 0n,
});

/** The image is there; pulled now, unless it was. */
export function hold(disk: ImageDisk, image: CatalogueImage, atMs: number): HeldImage {
  const known = disk.images.get(image.id);
  if (known !== undefined) return known;
  const held = { image, sinceMs: atMs, lastUsedMs: null };
  disk.images.set(image.id, held);
  for (const piece of image.content) if (addHolder(disk, piece, 1) === 1) disk.imageBytes += piece.sizeBytes;
  return held;
}

/** The image goes, and with it what no other has. Returns whether it was there. */
export function drop(disk: ImageDisk, id: string): boolean {
  for (const piece of disk.images.get(id)?.image.content ?? [])
    if (addHolder(disk, piece, -1) === 0) disk.imageBytes -= piece.sizeBytes;
  return disk.images.delete(id);
}

/** What a pull would add. */
export const missingBytes = ({ holders }: ImageDisk, { content }: CatalogueImage): bigint =>
  content.reduce((sum, piece) => (holders.has(piece) ? sum : sum + piece.sizeBytes), 0n);

function addHolder({ holders }: ImageDisk, piece: CataloguePiece, change: 1 | -1): number {
  const count = (holders.get(piece) ?? 0) + change;
  if (count === 0) holders.delete(piece);
  else holders.set(piece, count);
  return count;
}

export function availableBytes(
  { capacityBytes, imageBytes }: Pick<ImageDisk, 'capacityBytes' | 'imageBytes'>,
  otherBytes: bigint,
): bigint {
  const used = otherBytes + imageBytes;
  return used < capacityBytes ? capacityBytes - used : 0n;
}

/** As mke2fs reckons, and what a file takes on the average. */
const BYTES_PER_INODE = 16_384n;
const BYTES_PER_FILE = 32_768n;

/** One disk for everything. */
export function readingsOf(capacityBytes: bigint, available: bigint): FilesystemReadings {
  const inodes = capacityBytes / BYTES_PER_INODE;
  const reading: FilesystemReading = {
    mountpoint: '/var/lib',
    device: '259:1',
    capacityBytes: String(capacityBytes),
    availableBytes: String(available),
    inodes: String(inodes),
    inodesFree: String(inodes - (capacityBytes - available) / BYTES_PER_FILE),
  };
  return { nodefs: reading, imagefs: reading, containerfs: reading };
}

/** The layers of the images of a node; those of one image together. */
export function layerTable(disk: Pick<ImageDisk, 'images'>): LayerTable {
  const positions = new Map<CataloguePiece, number>();
  const ofImage = new Map<string, readonly number[]>();
  for (const { image } of disk.images.values()) {
    for (const piece of image.content) if (!positions.has(piece)) positions.set(piece, positions.size);
    ofImage.set(
      image.id,
      image.content.map((piece) => positions.get(piece) ?? 0).sort((a, b) => a - b),
    );
  }
  return { layers: [...positions.keys()].map(({ listed }) => listed), ofImage };
}
