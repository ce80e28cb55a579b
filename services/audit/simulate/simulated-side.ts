import type { CompleteInventory } from '../../../schemas/inventory.ts';
import { MAX_RECLAIM_ROUNDS, type Reclaim } from '../../../schemas/reclaim.ts';
import { altered } from './altered-inventory.ts';
import { type Deciding, decideImages, reclaimFor } from './decide-images.ts';
import type { Side } from './side.ts';
import { createSimulatedImages } from './simulated-images.ts';
import { createUsageTime, percentUsed } from './usage-time.ts';

/** What would have become of a node's images under other policies. */
export function createSimulatedSide(deciding: Deciding, regretWindowMs: number): Side {
  const images = createSimulatedImages(regretWindowMs);
  const usage = createUsageTime();
  let removed = 0;
  let freedBytes = 0n;
  let unrelieved = 0;

  /** Decides once; whether more may follow in the same reclaim. */
  const decideOnce = (recorded: CompleteInventory, reclaim: Reclaim | null, atMs: number): boolean => {
    const { items, unrelieved: isShort } = decideImages(
      { ...altered(recorded, images.alteration()), reclaim },
      deciding,
    );
    images.remove(items, recorded, atMs);
    removed += items.length;
    freedBytes += items.reduce((sum, { estimatedBytes }) => sum + BigInt(estimatedBytes), 0n);
    if (isShort) unrelieved++;
    return items.length > 0 && reclaim !== null && !isReached(recorded, reclaim);
  };

  const isReached = (recorded: CompleteInventory, { target }: Reclaim): boolean => {
    const { filesystems } = altered(recorded, images.alteration());
    return BigInt(filesystems[target.filesystem]?.[target.resource] ?? 0) >= BigInt(target.atLeast);
  };

  const percentNow = (recorded: CompleteInventory): number | null =>
    percentUsed(altered(recorded, images.alteration()).filesystems.imagefs);

  return {
    look: (inventory, atMs, threshold) => {
      images.follow(inventory, atMs);
      usage.at(atMs, percentNow(inventory), threshold);
      const reclaim = reclaimFor(altered(inventory, images.alteration()), deciding);
      for (let round = 1; round <= MAX_RECLAIM_ROUNDS; round++)
        if (!decideOnce(inventory, reclaim && { ...reclaim, round }, atMs)) break;
      usage.at(atMs, percentNow(inventory), threshold);
    },
    wentAway: (result, measured, atMs) => {
      if (result.object.kind === 'image') images.wentAway(result, measured, atMs);
    },
    unrelieved: () => undefined,
    sums: () => ({ removed, freedBytes, unrelieved, ...usage.sums(), ...images.told() }),
  };
}
