import { missed } from '../../../packages/decision/thresholds/wanted-reclaim.ts';
import type { FilesystemReadings } from '../../../schemas/events/filesystem.ts';
import type { ReclaimTarget } from '../../../schemas/events/reclaim.ts';

/**
 * Counts how often reclaims could not reach their target. Real ones try again and again, simulated ones with each inventory:
 * so that both count alike, it is once until an inventory shows the target reached, or shows no reading.
 */
export function createShortages() {
  const missing = new Map<string, ReclaimTarget>();
  let count = 0;
  return {
    /** An inventory, before anything is decided on it. */
    look: (filesystems: FilesystemReadings): void => {
      for (const [key, target] of missing) if (missed(target, filesystems) === null) missing.delete(key);
    },
    /** A reclaim that ended above its target. */
    unrelieved: (target: ReclaimTarget): void => {
      const key = `${target.filesystem} ${target.resource}`;
      if (!missing.has(key)) count++;
      missing.set(key, target);
    },
    count: (): number => count,
  };
}
