import type { FilesystemReadings } from '../../../schemas/events/filesystem.ts';
import type { ReclaimTarget } from '../../../schemas/events/reclaim.ts';

/** What a filesystem has free while that is less than the target wants; `null` when it is enough, or not known (J8). */
export function missed(
  { filesystem, resource, atLeast }: ReclaimTarget,
  readings: FilesystemReadings,
): string | null {
  const free = readings[filesystem]?.[resource] ?? null;
  return free !== null && BigInt(free) < BigInt(atLeast) ? free : null;
}
