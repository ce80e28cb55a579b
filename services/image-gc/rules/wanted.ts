import type { FilesystemReadings } from '../../../schemas/filesystem.ts';
import type { Policy } from '../../../schemas/policy.ts';
import type { Reclaim } from '../../../schemas/reclaim.ts';
import { notForced, type Unwanted } from '../../shared/decision/forced-reclaim.ts';
import { standingOrder } from './standing-order.ts';

/** What of an ordered reclaim the policy in force still asks for: all of it, less, or nothing. */
export interface Wanted {
  /** As ordered, or with a smaller target. A policy that asks for more makes no order larger. */
  readonly reclaim: Reclaim;
  /** Why the target is not the ordered one; `null` when it is. */
  readonly shrunk: string | null;
  /** Why no image goes for it at all. */
  readonly unwanted: Unwanted | null;
}

/**
 * Holds a reclaim against the policy in force, which may have changed since it was ordered. One that the usage thresholds
 * began is held against those (D1, D6, M13, M39); one that an eviction signal began, against that there still is such a
 * threshold and that it may force anything (M16).
 */
export function wantedNow(reclaim: Reclaim, filesystems: FilesystemReadings, policy: Policy): Wanted {
  const asOrdered = { reclaim, shrunk: null, unwanted: null };
  const standing = standingOrder(reclaim, filesystems.imagefs, policy);
  if (standing === undefined) return { ...asOrdered, unwanted: notForced(reclaim, policy) };
  return 'reason' in standing
    ? { ...asOrdered, unwanted: standing }
    : { ...asOrdered, ...shrunkTo(standing.enough, reclaim, policy) };
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
