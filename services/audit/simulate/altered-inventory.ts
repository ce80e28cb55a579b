import type { FilesystemReading } from '../../../schemas/filesystem.ts';
import type { CompleteInventory, InventoryImage } from '../../../schemas/inventory.ts';

/** How a simulated node differs from the recorded one. */
export interface Alteration {
  /** Listed, but gone. */
  readonly absent: ReadonlySet<string>;
  /** Not listed, but there. */
  readonly extra: readonly InventoryImage[];
  /** Bytes that are free beyond what was read; below zero where more is used. */
  readonly freedBytes: bigint;
}

/** The inventory as the simulated node would have taken it, without a reclaim. */
export function altered(
  inventory: CompleteInventory,
  { absent, extra, freedBytes }: Alteration,
): CompleteInventory {
  return {
    ...inventory,
    reclaim: null,
    images: [...inventory.images.filter(({ id }) => !absent.has(id)), ...extra.map(unlayered)],
    filesystems: shifted(inventory.filesystems, freedBytes),
  };
}

/** Its layers are positions in another list, and who used it has gone on without it. */
const unlayered = (image: InventoryImage): InventoryImage => ({
  ...image,
  layers: null,
  usedBy: [],
  backoff: null,
});

/** Filesystems on the device of the images change together. */
function shifted(filesystems: CompleteInventory['filesystems'], freedBytes: bigint) {
  const device = filesystems.imagefs?.device;
  const shift = (reading: FilesystemReading | null): FilesystemReading | null =>
    reading &&
    withoutInodes(reading.device === device ? { ...reading, ...shiftedBytes(reading, freedBytes) } : reading);
  return {
    nodefs: shift(filesystems.nodefs),
    imagefs: shift(filesystems.imagefs),
    containerfs: shift(filesystems.containerfs),
  };
}

/**
 * Nobody knows how many inodes an image takes up: those that were read would call for ever more removals. A filesystem
 * that counts none has none to run out of (J8).
 */
const withoutInodes = (reading: FilesystemReading): FilesystemReading => ({
  ...reading,
  inodes: '0',
  inodesFree: '0',
});

/** A reading that nobody believes is left as it is. */
function shiftedBytes(
  { availableBytes, capacityBytes }: FilesystemReading,
  freedBytes: bigint,
): Pick<FilesystemReading, 'availableBytes'> {
  if (availableBytes === null || capacityBytes === null) return { availableBytes };
  const capacity = BigInt(capacityBytes);
  if (BigInt(availableBytes) > capacity) return { availableBytes };
  const moved = BigInt(availableBytes) + freedBytes;
  return { availableBytes: String(moved < 0n ? 0n : moved > capacity ? capacity : moved) };
}
