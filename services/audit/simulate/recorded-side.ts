import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import type { Measured } from '../../../schemas/events/result.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { ImagesPulledAgain } from '../events/images-pulled-again.ts';
import { createUsageTime } from './disk-use.ts';
import { createRemovalSums, createShortages, type RegrettedImage, type Side } from './side.ts';
import { freedBytes } from './space-effects.ts';

/** What really became of a node. */
export function createRecordedSide(regretWindowMs: number): Side {
  const pulledAgain = new ImagesPulledAgain();
  const usage = createUsageTime();
  const removals = createRemovalSums();
  const shortages = createShortages();
  const regretted: RegrettedImage[] = [];
  let filesystems: CompleteInventory['filesystems'] | null = null;
  let lastPolicy: Policy | null = null;

  const measuredNow = ({ filesystem, afterBytes }: Measured, atMs: number): void => {
    const imagefs = filesystems?.imagefs ?? null;
    if (filesystems === null || imagefs === null || filesystems[filesystem]?.device !== imagefs.device)
      return;
    filesystems = { ...filesystems, imagefs: { ...imagefs, availableBytes: afterBytes } };
    usage.at(atMs, filesystems.imagefs, lastPolicy);
  };

  return {
    look: (inventory, atMs, policy) => {
      for (const { imageId, name, sizeBytes, removedAtMs, seenAgainAtMs } of pulledAgain.listed(
        inventory,
        atMs,
      ))
        if (seenAgainAtMs - removedAtMs <= regretWindowMs)
          regretted.push({ imageId, name, sizeBytes, removedAtMs, neededAtMs: seenAgainAtMs });
      filesystems = inventory.filesystems;
      lastPolicy = policy;
      usage.at(atMs, filesystems.imagefs, policy);
      shortages.look(inventory.filesystems);
    },
    diskStats: () => undefined,
    wentAway: (result, removed, atMs) => {
      if (removed.measured !== null) measuredNow(removed.measured, atMs);
      removals.add(result.object.kind, freedBytes(removed));
      if (result.object.kind === 'image') pulledAgain.removed(result, atMs);
    },
    unrelieved: ({ reclaim }) => shortages.unrelieved(reclaim.target),
    sums: () => ({
      ...removals.sums(),
      guessed: 0,
      regretted,
      unrelieved: shortages.count(),
      ...usage.sums(),
      estimatedFromMs: null,
    }),
  };
}
