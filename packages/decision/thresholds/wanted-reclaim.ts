import type { FilesystemReadings } from '../../../schemas/events/filesystem.ts';
import type { Reclaim } from '../../../schemas/events/reclaim.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { forcedStanding } from './forced-reclaim.ts';
import { type Standing, type Unwanted, usageStanding } from './usage-reclaim.ts';
import { isUsageSignal } from './usage-thresholds.ts';

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
  const standing = standingOf(reclaim, filesystems, policy);
  return 'reason' in standing
    ? { reclaim, shrunk: null, unwanted: standing, isPressed: false }
    : {
        reclaim,
        shrunk: null,
        unwanted: null,
        isPressed: standing.isPressed,
        ...shrunkTo(standing.enough, reclaim, policy),
      };
}

function standingOf(reclaim: Reclaim, filesystems: FilesystemReadings, policy: Policy): Standing {
  const { signal } = reclaim.cause;
  return isUsageSignal(signal)
    ? usageStanding(signal, reclaim, { imagefs: filesystems.imagefs, policy })
    : forcedStanding(reclaim, filesystems, policy);
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
