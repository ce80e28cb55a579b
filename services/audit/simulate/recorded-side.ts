import type { FilesystemReading } from '../../../schemas/filesystem.ts';
import { createPulledAgain } from '../pulled-again.ts';
import type { RegrettedImage, Side } from './side.ts';
import { createUsageTime, percentUsed } from './usage-time.ts';

/** What really became of a node. */
export function createRecordedSide(regretWindowMs: number): Side {
  const pulledAgain = createPulledAgain();
  const usage = createUsageTime();
  const regretted: RegrettedImage[] = [];
  let imagefs: FilesystemReading | null = null;
  let lastThreshold: number | null = null;
  let removed = 0;
  let freedBytes = 0n;
  let unrelieved = 0;

  return {
    look: (inventory, atMs, threshold) => {
      for (const { imageId, name, sizeBytes, removedAtMs, seenAgainAtMs } of pulledAgain.listed(
        inventory,
        atMs,
      ))
        if (seenAgainAtMs - removedAtMs <= regretWindowMs)
          regretted.push({ imageId, name, sizeBytes, removedAtMs, neededAtMs: seenAgainAtMs });
      imagefs = inventory.filesystems.imagefs;
      lastThreshold = threshold;
      usage.at(atMs, percentUsed(imagefs), threshold);
    },
    wentAway: (result, measured, atMs) => {
      if (measured?.filesystem === 'imagefs' && imagefs !== null) {
        imagefs = { ...imagefs, availableBytes: measured.afterBytes };
        usage.at(atMs, percentUsed(imagefs), lastThreshold);
      }
      if (result.object.kind !== 'image') return;
      removed++;
      if (measured !== null) freedBytes += BigInt(measured.afterBytes) - BigInt(measured.beforeBytes);
      pulledAgain.removed(result, atMs);
    },
    unrelieved: () => {
      unrelieved++;
    },
    sums: () => ({ removed, freedBytes, regretted, unrelieved, ...usage.sums(), estimatedFromMs: null }),
  };
}
