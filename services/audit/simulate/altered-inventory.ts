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
    reading === null || reading.device !== device ? reading : shiftedReading(reading, freedBytes);
  return {
    nodefs: shift(filesystems.nodefs),
    imagefs: shift(filesystems.imagefs),
    containerfs: shift(filesystems.containerfs),
  };
}

/** A reading that nobody believes is left as it is. */
function shiftedReading(reading: FilesystemReading, freedBytes: bigint): FilesystemReading {
  if (reading.availableBytes === null || reading.capacityBytes === null) return reading;
  const capacity = BigInt(reading.capacityBytes);
  const available = BigInt(reading.availableBytes);
  if (available > capacity) return reading;
  const moved = available + freedBytes;
  const within = moved < 0n ? 0n : moved > capacity ? capacity : moved;
  return { ...reading, availableBytes: String(within) };
}
