import type { ImageUser, InventoryImage } from '../../../schemas/events/inventory.ts';

/** An image that is unused in the simulation alone. */
interface Unused {
  /** By the node's wall clock. */
  readonly sinceMs: number;
  /** The recorded time of last use that follows from what is gone in the simulation. */
  readonly heldUntilMs: number;
  /** What is gone in the simulation still holds it on the real node. */
  readonly isHeld: boolean;
}

/** Who uses images and since when nobody does, on a node where some users are gone that the real one has still. */
export function createImageUse(goneAtMs: (user: ImageUser) => number | null) {
  const unused = new Map<string, Unused>();

  const stillThere = ({ usedBy }: InventoryImage): readonly ImageUser[] =>
    usedBy.filter((user) => goneAtMs(user) === null);

  const followImage = (image: InventoryImage): void => {
    const { id, usedBy } = image;
    const before = unused.get(id);
    const heldUntilMs = image.lastUsedMs ?? 0;
    if (stillThere(image).length > 0) unused.delete(id);
    else if (usedBy.length > 0) {
      const sinceMs = Math.max(...usedBy.map((user) => goneAtMs(user) ?? 0));
      unused.set(id, { sinceMs, heldUntilMs, isHeld: true });
    } else if (before?.isHeld) unused.set(id, { ...before, heldUntilMs, isHeld: false });
    else if (before !== undefined && heldUntilMs > before.heldUntilMs) unused.delete(id);
  };

  return {
    follow: (images: readonly InventoryImage[]): void => {
      for (const image of images) followImage(image);
    },
    /** The image as it would be listed. */
    altered: (image: InventoryImage): InventoryImage => {
      const known = unused.get(image.id);
      const usedBy = [...stillThere(image)];
      if (known === undefined || usedBy.length > 0) return { ...image, usedBy };
      return { ...image, usedBy, lastUsedMs: image.lastUsedMs && Math.min(image.lastUsedMs, known.sinceMs) };
    },
  };
}
