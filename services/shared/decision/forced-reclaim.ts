import type { Policy } from '../../../schemas/policy.ts';
import type { Reclaim } from '../../../schemas/reclaim.ts';

/** Why nothing is to be removed for a reclaim, with the rule that says so. */
export interface Unwanted {
  readonly rule: string;
  readonly reason: string;
}

/**
 * Why the policy in force removes nothing for a reclaim that an eviction signal began: it may force nothing by now (M16), or
 * has no such threshold any more (J9). Thresholds of containerfs are those of the filesystem that it shares (J6), whichever
 * that is on the node.
 */
export function notForced({ cause: { signal } }: Reclaim, policy: Policy): Unwanted | null {
  const { name, forcedGC, evictionThresholds } = policy;
  if (!forcedGC)
    return { rule: 'M16', reason: `policy ${name} now lets no eviction threshold remove anything` };
  const of = (filesystem: string) => signal.replace('containerfs', filesystem);
  const same: readonly string[] = [signal, of('nodefs'), of('imagefs')];
  if (evictionThresholds.some((threshold) => same.includes(threshold.signal))) return null;
  return { rule: 'J9', reason: `policy ${name} now has no eviction threshold for ${signal}` };
}
