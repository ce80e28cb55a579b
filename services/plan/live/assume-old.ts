import type { Inventory } from '../../../schemas/events/inventory.ts';

/** Longer than any policy asks for. */
const LONG_MS = 10 * 365 * 24 * 60 * 60 * 1000;

/** The same node as if an agent had watched it for ever: what nobody uses was never used, and is as old as can be. */
export function assumeOld(inventory: Inventory): Inventory {
  if (inventory.status !== 'complete') return inventory;
  const longAgoMs = Math.max(0, inventory.takenAt.wallTimeMs - LONG_MS);
  return {
    ...inventory,
    clockSteadySinceMs: longAgoMs,
    imagesWatchedSinceMs: longAgoMs,
    images: inventory.images.map((image) => ({ ...image, firstDetectedMs: longAgoMs })),
  };
}
