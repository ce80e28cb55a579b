import { compareText } from '../../../packages/decision/listing.ts';
import type { InventoryImage } from '../../../schemas/events/inventory.ts';

/**
 * The order in which images go (D8): least recently used first, those never seen in use before all others; then the
 * first detected; then the larger; then by id, so that no two images are equal.
 */
export function compareCandidates(a: InventoryImage, b: InventoryImage): number {
  return (
    compareLastUsed(a.lastUsedMs, b.lastUsedMs) ||
    a.firstDetectedMs - b.firstDetectedMs ||
    b.sizeBytes - a.sizeBytes ||
    compareText(a.id, b.id)
  );
}

/** `null` is the kubelet's zero time: before every instant, 1970 included. */
function compareLastUsed(a: number | null, b: number | null): number {
  if (a === null || b === null) return Number(b === null) - Number(a === null);
  return a - b;
}
