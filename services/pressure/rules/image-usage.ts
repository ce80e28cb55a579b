import type { DiskStats } from '../../../schemas/disk-stats.ts';
import type { Policy } from '../../../schemas/policy.ts';
import type { Doubt } from '../../shared/decision/conclusion.ts';
import { believeUsage } from '../../shared/decision/filesystem-usage.ts';
import { IMAGE_USAGE_SIGNAL, targetBytes, usagePercent } from '../../shared/decision/usage-thresholds.ts';
import type { Finding } from './signal.ts';

/** The usage thresholds of image GC (D). */
export function imageUsage(stats: DiskStats, policy: Policy): Finding {
  if (policy.imageGCHighThresholdPercent === 100)
    return { kind: 'not-met', reason: 'D1: a high threshold of 100% switches image GC by usage off' };
  const believed = believeUsage('imagefs', stats.filesystems.imagefs);
  if (believed.kind === 'doubt') return { kind: 'doubt', doubt: quietAtStart(believed.doubt, stats) };
  const percent = usagePercent(believed.usage);
  const reading = `imagefs is used to ${percent}%`;
  return percent >= BigInt(policy.imageGCHighThresholdPercent)
    ? met(stats, policy, percent, targetBytes(believed.usage, policy))
    : { kind: 'not-met', reason: `${reading}, below ${policy.imageGCHighThresholdPercent}%` };
}

function met(stats: DiskStats, policy: Policy, percent: bigint, atLeast: bigint): Finding {
  const threshold = `${policy.imageGCHighThresholdPercent}%`;
  return {
    kind: 'met',
    cause: {
      signal: IMAGE_USAGE_SIGNAL,
      threshold,
      reading: `${percent}%`,
      policy: policy.name,
      eventId: stats.id,
    },
    target: { filesystem: 'imagefs', resource: 'availableBytes', atLeast: String(atLeast) },
    reason: `imagefs is used to ${percent}%, threshold ${threshold}: at least ${atLeast} bytes shall be available`,
  };
}

/** A runtime that is just starting reports a capacity of 0 until it has looked; that alarms nobody (M36). */
function quietAtStart(doubt: Doubt, { history }: DiskStats): Doubt {
  const noGoodReadingYet = history.imagefs.availableBytes.every(([, , maximum]) => maximum === '0');
  if (doubt.rule !== 'D5' || !noGoodReadingYet) return doubt;
  return { rule: 'M36', message: 'imagefs has reported no capacity yet, as is usual at start' };
}
