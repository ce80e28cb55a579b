import type { FilesystemReading } from '../../../schemas/filesystem.ts';
import type { Policy } from '../../../schemas/policy.ts';
import type { Reclaim } from '../../../schemas/reclaim.ts';
import { believeUsage } from '../../shared/decision/filesystem-usage.ts';
import { IMAGE_USAGE_SIGNAL, targetBytes } from '../../shared/decision/usage-thresholds.ts';

/** What of an ordered reclaim the policy in force still asks for: all of it, less, or nothing. */
export interface Wanted {
  /** As ordered, or with a smaller target. A policy that asks for more makes no order larger. */
  readonly reclaim: Reclaim;
  /** Why the target is not the ordered one; `null` when it is. */
  readonly shrunk: string | null;
  /** Why no image goes for it at all. */
  readonly unwanted: { readonly rule: string; readonly reason: string } | null;
}

/**
 * Holds a reclaim that the usage thresholds began against those of the policy in force (D1, D6): it may have changed
 * since. What another signal ordered has nothing to do with percentages and stays as it is.
 */
export function wantedNow(reclaim: Reclaim, imagefs: FilesystemReading | null, policy: Policy): Wanted {
  const { cause, target } = reclaim;
  const asOrdered = { reclaim, shrunk: null, unwanted: null };
  if (cause.signal !== IMAGE_USAGE_SIGNAL) return asOrdered;
  const unwanted = notBegun(reclaim, policy);
  if (unwanted !== null) return { ...asOrdered, unwanted };
  if (target.filesystem !== 'imagefs' || target.resource !== 'availableBytes') return asOrdered;
  const believed = believeUsage('imagefs', imagefs);
  if (believed.kind === 'doubt') return asOrdered;
  const enough = targetBytes(believed.usage, policy);
  if (enough >= BigInt(target.atLeast)) return asOrdered;
  const shrunk = `policy ${policy.name} now asks for ${enough} bytes, less than the ${target.atLeast} that were ordered`;
  return { ...asOrdered, reclaim: { ...reclaim, target: { ...target, atLeast: String(enough) } }, shrunk };
}

const PERCENT = /^(\d{1,3})%$/;

/**
 * Whether the reading that began the reclaim would begin none under this policy. Later readings do not tell: below the
 * high threshold a reclaim goes on until it reaches the low one.
 */
function notBegun({ cause }: Reclaim, policy: Policy): Wanted['unwanted'] {
  const { name, imageGCHighThresholdPercent: high } = policy;
  if (high === 100)
    return { rule: 'D1', reason: `policy ${name} now switches image GC by usage off (high threshold 100%)` };
  const percent = PERCENT.exec(cause.reading)?.[1];
  if (percent === undefined) return { rule: 'D6', reason: 'it is not known which usage began this reclaim' };
  if (Number(percent) >= high) return null;
  const reason = `imagefs was used to ${percent}% when this reclaim began, which is below the ${high}% of policy ${name} now`;
  return { rule: 'D6', reason };
}
