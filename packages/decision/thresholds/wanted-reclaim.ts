import type { FilesystemReadings } from '../../../schemas/events/filesystem.ts';
import type { Reclaim, ReclaimTarget } from '../../../schemas/events/reclaim.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { isUsageSignal } from './filesystem-usage.ts';
import { forcedStillWanted } from './forced-reclaim.ts';
import { type StillWanted, type Unwanted, usageStillWanted } from './usage-reclaim.ts';

/** What of an ordered reclaim policy and disk still ask for: all of it, less, or nothing. */
export interface Wanted {
  /** As ordered, or with a smaller target. A policy that asks for more makes no order larger. */
  readonly reclaim: Reclaim;
  /** Why the target is not the ordered one; `null` when it is. */
  readonly shrunk: string | null;
  /** Why nothing goes for it at all. */
  readonly unwanted: Unwanted | null;
  /** Whether an eviction signal is met by this reading: more may go than for usage (G2, J22). */
  readonly isPressed: boolean;
}

/**
 * Holds a reclaim against the policy in force and this reading of the disk, whatever its order says: the policy may have
 * changed, the disk too, and anybody may have written the order. What began the reclaim has to stand in the policy (D1, D6,
 * M13, M39; J9, M16), and the target is at most what that threshold, or one of the same disk, asks for.
 */
export function wantedNow(reclaim: Reclaim, filesystems: FilesystemReadings, policy: Policy): Wanted {
  const still = stillWanted(reclaim, filesystems, policy);
  return 'reason' in still
    ? { reclaim, shrunk: null, unwanted: still, isPressed: false }
    : {
        reclaim,
        shrunk: null,
        unwanted: null,
        isPressed: still.isPressed,
        ...shrunkTo(still.enough, reclaim, policy),
      };
}

function stillWanted(reclaim: Reclaim, filesystems: FilesystemReadings, policy: Policy): StillWanted {
  const { signal } = reclaim.cause;
  return isUsageSignal(signal)
    ? usageStillWanted(signal, reclaim, { imagefs: filesystems.imagefs, policy })
    : forcedStillWanted(reclaim, filesystems, policy);
}

function shrunkTo(
  enough: bigint | null,
  reclaim: Reclaim,
  { name }: Policy,
): Partial<Pick<Wanted, 'reclaim' | 'shrunk'>> {
  const { target } = reclaim;
  if (enough === null || enough >= BigInt(target.atLeast)) return {};
  const unit = target.resource === 'availableBytes' ? 'bytes' : 'inodes';
  const shrunk = `policy ${name} now asks for ${enough} ${unit}, less than the ${target.atLeast} that were ordered`;
  return { reclaim: { ...reclaim, target: { ...target, atLeast: String(enough) } }, shrunk };
}

/** What a filesystem has free while that is less than the target wants; `null` when it is enough, or not known (J8). */
export function missed(
  { filesystem, resource, atLeast }: ReclaimTarget,
  readings: FilesystemReadings,
): string | null {
  const free = readings[filesystem]?.[resource] ?? null;
  return free !== null && BigInt(free) < BigInt(atLeast) ? free : null;
}
