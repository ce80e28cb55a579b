import type { FilesystemReading } from '../../../schemas/filesystem.ts';
import type { Policy } from '../../../schemas/policy.ts';
import type { Reclaim } from '../../../schemas/reclaim.ts';
import { believeInodes, believeUsage } from '../../shared/decision/filesystem-usage.ts';
import type { Unwanted } from '../../shared/decision/forced-reclaim.ts';
import {
  isUsageGcOff,
  targetBytes,
  targetInodes,
  USAGE_SIGNALS,
} from '../../shared/decision/usage-thresholds.ts';

/** A reclaim that one of the usage thresholds began, held against that threshold of the policy in force. */
export type Standing =
  | Unwanted
  /** Where the policy would stop, bytes or inodes; `null` where that is not known. */
  | { readonly enough: bigint | null };

/** `undefined` for a reclaim that no usage threshold began. */
export function standingOrder(
  reclaim: Reclaim,
  imagefs: FilesystemReading | null,
  policy: Policy,
): Standing | undefined {
  switch (reclaim.cause.signal) {
    case USAGE_SIGNALS.percent:
      return ofPercent(reclaim, imagefs, policy);
    case USAGE_SIGNALS.available:
      return ofAvailable(policy);
    case USAGE_SIGNALS.inodes:
      return ofInodes(reclaim, imagefs, policy);
    default:
      return undefined;
  }
}

function ofPercent({ cause }: Reclaim, imagefs: FilesystemReading | null, policy: Policy): Standing {
  if (isUsageGcOff(policy)) {
    const reason = `policy ${policy.name} now switches image GC by usage off (high threshold 100%)`;
    return { rule: 'D1', reason };
  }
  const below = belowThreshold('imagefs', cause.reading, policy.imageGCHighThresholdPercent, policy);
  if (below !== null) return below;
  const believed = believeUsage('imagefs', imagefs);
  return { enough: believed.kind === 'doubt' ? null : targetBytes(believed.usage, policy) };
}

const ofAvailable = ({ name, imageGCAvailable }: Policy): Standing =>
  imageGCAvailable === null
    ? { rule: 'M39', reason: `policy ${name} now has no absolute threshold for images` }
    : { enough: BigInt(imageGCAvailable.untilBytes) };

function ofInodes({ cause }: Reclaim, imagefs: FilesystemReading | null, policy: Policy): Standing {
  const { name, imageGCInodes } = policy;
  if (imageGCInodes === null)
    return { rule: 'M13', reason: `policy ${name} now removes no image to free inodes` };
  const high = imageGCInodes.highThresholdPercent;
  const below = belowThreshold('the inodes of imagefs', cause.reading, high, policy);
  if (below !== null) return below;
  const believed = believeInodes('imagefs', imagefs);
  return { enough: believed.kind === 'doubt' ? null : targetInodes(believed.inodes, imageGCInodes) };
}

const PERCENT = /^(\d{1,3})%$/;

/**
 * Whether the reading that began a reclaim would begin none under this policy. Later readings do not tell: below the high
 * threshold a reclaim goes on until it reaches the low one.
 */
function belowThreshold(what: string, reading: string, high: number, { name }: Policy): Unwanted | null {
  const percent = PERCENT.exec(reading)?.[1];
  if (percent === undefined) return { rule: 'D6', reason: 'it is not known which usage began this reclaim' };
  if (Number(percent) >= high) return null;
  const reason = `${what} was used to ${percent}% when this reclaim began, which is below the ${high}% of policy ${name} now`;
  return { rule: 'D6', reason };
}
