import type { Doubt } from '../../../packages/decision/conclusion.ts';
import { believeInodes, believeUsage } from '../../../packages/decision/thresholds/filesystem-usage.ts';
import type { Resource } from '../../../schemas/events/filesystem.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import type { ReclaimTarget } from '../../../schemas/events/reclaim.ts';

/** How far a node is from a target, by the reading in its inventory. */
export interface KnownShortfall {
  readonly kind: 'known';
  readonly resource: Resource;
  /** Bytes available or inodes free. */
  readonly availableNow: bigint;
  /** Zero or less: the target is reached. */
  readonly missing: bigint;
  /** Bytes in use on the target's filesystem; 0 where they are not known. */
  readonly usedBytes: bigint;
}

export type Shortfall = KnownShortfall | { readonly kind: 'doubt'; readonly doubt: Doubt };

export function shortfall({ filesystems }: CompleteInventory, target: ReclaimTarget): Shortfall {
  const { filesystem, resource, atLeast } = target;
  const reading = filesystems[filesystem];
  const bytes = believeUsage(filesystem, reading);
  const usedBytes = bytes.kind === 'usage' ? bytes.usage.capacityBytes - bytes.usage.availableBytes : 0n;
  const believed = resource === 'availableBytes' ? bytes : believeInodes(filesystem, reading);
  if (believed.kind === 'doubt') return believed;
  if (reading?.device !== filesystems.imagefs?.device)
    return doubt('A2', `images do not lie on the device of ${filesystem}`);
  const availableNow = 'usage' in believed ? believed.usage.availableBytes : believed.inodes.free;
  return { kind: 'known', resource, availableNow, missing: BigInt(atLeast) - availableNow, usedBytes };
}

const doubt = (rule: string, message: string): Shortfall => ({
  kind: 'doubt',
  doubt: { rule, message: `${message}: no image is removed for this target` },
});
