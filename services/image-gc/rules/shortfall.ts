import type { CompleteInventory } from '../../../schemas/inventory.ts';
import type { ReclaimTarget } from '../../../schemas/reclaim.ts';
import type { Doubt } from '../../shared/decision/conclusion.ts';
import { believeUsage } from '../../shared/decision/filesystem-usage.ts';

/** How far a node is from a target, by the reading in its inventory. */
export type Shortfall =
  | {
      readonly kind: 'known';
      readonly availableBytes: bigint;
      readonly usedBytes: bigint;
      /** Zero or less: the target is reached. */
      readonly missingBytes: bigint;
    }
  | { readonly kind: 'doubt'; readonly doubt: Doubt };

export function shortfall({ filesystems }: CompleteInventory, target: ReclaimTarget): Shortfall {
  if (target.resource !== 'availableBytes')
    return doubt('M13', 'image sizes do not tell how many inodes they free');
  const reading = filesystems[target.filesystem];
  const believed = believeUsage(target.filesystem, reading);
  if (believed.kind === 'doubt') return believed;
  if (reading?.device !== filesystems.imagefs?.device)
    return doubt('A2', `images do not lie on the device of ${target.filesystem}`);
  const { capacityBytes, availableBytes } = believed.usage;
  return {
    kind: 'known',
    availableBytes,
    usedBytes: capacityBytes - availableBytes,
    missingBytes: BigInt(target.atLeast) - availableBytes,
  };
}

const doubt = (rule: string, message: string): Shortfall => ({
  kind: 'doubt',
  doubt: { rule, message: `${message}: no image is removed for this target` },
});
