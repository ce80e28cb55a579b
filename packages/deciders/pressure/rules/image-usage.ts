import type { DiskStats } from '../../../../schemas/events/disk-stats.ts';
import type { ReclaimTarget } from '../../../../schemas/events/reclaim.ts';
import type { Policy } from '../../../../schemas/policy/policy.ts';
import {
  isUsageGcOff,
  targetBytes,
  targetInodes,
  USAGE_SIGNALS,
  usagePercent,
  usedInodesPercent,
} from '../../../decision/thresholds/filesystem-usage.ts';
import { type Finding, notMet, type Observed, observe } from './finding.ts';

/** The usage thresholds of image GC: in percent (D), absolute (M39) and of inodes (M13). */
export const usageThresholds = (stats: DiskStats, policy: Policy): readonly Finding[] =>
  [bytesPercent, bytesAvailable, inodesPercent].flatMap((threshold) => threshold(stats, policy) ?? []);

function bytesPercent(stats: DiskStats, policy: Policy): Finding {
  const { imageGCHighThresholdPercent: high } = policy;
  if (isUsageGcOff(policy)) return notMet('D1: a high threshold of 100% switches image GC by usage off');
  const observation = observe(stats, { filesystem: 'imagefs', resource: 'availableBytes' });
  if (observation.kind !== 'observed') return unobserved(observation);
  const usage = { capacityBytes: observation.capacity, availableBytes: observation.free };
  const percent = usagePercent(usage);
  if (percent < BigInt(high)) return notMet(`imagefs is used to ${percent}%, below ${high}%`);
  const atLeast = targetBytes(usage, policy);
  return met({ stats, policy }, 'availableBytes', {
    signal: USAGE_SIGNALS.percent,
    threshold: `${high}%`,
    reading: `${percent}%`,
    atLeast,
    reason: `imagefs is used to ${percent}%, threshold ${high}%: at least ${atLeast} bytes shall be available`,
  });
}

/** A limit beyond the end of the disk could never be reached, and everything would go for it. */
function bytesAvailable(stats: DiskStats, policy: Policy): Finding | null {
  if (policy.imageGCAvailable === null) return null;
  const { startBelowBytes, untilBytes } = policy.imageGCAvailable;
  const observation = observe(stats, { filesystem: 'imagefs', resource: 'availableBytes' });
  if (observation.kind !== 'observed') return unobserved(observation);
  const { free, capacity } = observation;
  const until = BigInt(untilBytes);
  if (until > capacity)
    return notMet(`M39: imagefs has ${capacity} bytes in all, so ${until} can never be available`);
  if (free >= BigInt(startBelowBytes))
    return notMet(`imagefs has ${free} bytes available, not below ${startBelowBytes}`);
  return met({ stats, policy }, 'availableBytes', {
    signal: USAGE_SIGNALS.available,
    threshold: startBelowBytes,
    reading: String(free),
    atLeast: until,
    reason: `imagefs has ${free} bytes available, below ${startBelowBytes}: at least ${until} shall be`,
  });
}

/** The arithmetic of D6, on inodes. */
function inodesPercent(stats: DiskStats, policy: Policy): Finding | null {
  if (policy.imageGCInodes === null || policy.imageGCInodes.highThresholdPercent === 100) return null;
  const { highThresholdPercent: high } = policy.imageGCInodes;
  const observation = observe(stats, { filesystem: 'imagefs', resource: 'inodesFree' });
  if (observation.kind !== 'observed') return unobserved(observation);
  const usage = { inodes: observation.capacity, free: observation.free };
  const percent = usedInodesPercent(usage);
  if (percent < BigInt(high)) return notMet(`inodes of imagefs are used to ${percent}%, below ${high}%`);
  const atLeast = targetInodes(usage, policy.imageGCInodes);
  return met({ stats, policy }, 'inodesFree', {
    signal: USAGE_SIGNALS.inodes,
    threshold: `${high}%`,
    reading: `${percent}%`,
    atLeast,
    reason: `inodes of imagefs are used to ${percent}%, threshold ${high}%: at least ${atLeast} shall be free`,
  });
}

const unobserved = (observation: Exclude<ReturnType<typeof observe>, Observed>): Finding =>
  observation.kind === 'doubt' ? observation : notMet('imagefs does not count its inodes');

interface MetThreshold {
  readonly signal: string;
  readonly threshold: string;
  readonly reading: string;
  readonly atLeast: bigint;
  readonly reason: string;
}

/** Dead containers go first, since one keeps its image in use (J21, M20). */
const met = (
  { stats, policy }: { readonly stats: DiskStats; readonly policy: Policy },
  resource: ReclaimTarget['resource'],
  { atLeast, reason, ...cause }: MetThreshold,
): Finding => ({
  kind: 'met',
  isForced: false,
  cause: { ...cause, policy: policy.name, eventId: stats.id },
  target: { filesystem: 'imagefs', resource, atLeast: String(atLeast) },
  actions: ['containers', 'images'],
  step: 'containers',
  reason,
});
