import type { FilesystemReading, Resource } from '../../../schemas/events/filesystem.ts';
import type { Reclaim } from '../../../schemas/events/reclaim.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import type { KeptRule } from '../rule-text.ts';
import {
  believeInodes,
  believeUsage,
  isUsageGcOff,
  targetBytes,
  targetInodes,
  USAGE_SIGNALS,
  type UsageSignal,
} from './filesystem-usage.ts';

/** Why nothing is to be removed for a reclaim, with the rule that says so. */
export interface Unwanted {
  readonly rule: KeptRule;
  readonly reason: string;
}

/** A reclaim held against the policy in force and a reading of the disk. */
export type StillWanted =
  | Unwanted
  /** Where the policy would stop, bytes or inodes; `null` where that is not known. */
  | {
      readonly enough: bigint | null;
      /** Whether the reading misses what eviction thresholds ask for, so that more may go than for usage (G2, J22). */
      readonly isPressed: boolean;
    };

const RESOURCES: Readonly<Record<UsageSignal, Resource>> = {
  [USAGE_SIGNALS.percent]: 'availableBytes',
  [USAGE_SIGNALS.available]: 'availableBytes',
  [USAGE_SIGNALS.inodes]: 'inodesFree',
};

/** Of a reclaim that one of the usage thresholds began. */
export function usageStillWanted(
  signal: UsageSignal,
  reclaim: Reclaim,
  { imagefs, policy }: { readonly imagefs: FilesystemReading | null; readonly policy: Policy },
): StillWanted {
  const { filesystem, resource } = reclaim.target;
  if (filesystem !== 'imagefs' || resource !== RESOURCES[signal])
    return { rule: 'D6', reason: `the target of the reclaim is not what ${signal} watches` };
  switch (signal) {
    case USAGE_SIGNALS.percent:
      return ofPercent(reclaim, imagefs, policy);
    case USAGE_SIGNALS.available:
      return ofAvailable(imagefs, policy);
    case USAGE_SIGNALS.inodes:
      return ofInodes(reclaim, imagefs, policy);
  }
}

function ofPercent({ cause }: Reclaim, imagefs: FilesystemReading | null, policy: Policy): StillWanted {
  if (isUsageGcOff(policy)) {
    const reason = `policy ${policy.name} now switches image GC by usage off (high threshold 100%)`;
    return { rule: 'D1', reason };
  }
  const below = belowThreshold('imagefs', cause.reading, policy.imageGCHighThresholdPercent, policy);
  if (below !== null) return below;
  const believed = believeUsage('imagefs', imagefs);
  return { enough: believed.kind === 'doubt' ? null : targetBytes(believed.usage, policy), isPressed: false };
}

/** A limit beyond the end of the disk could never be reached, and everything would go for it. */
function ofAvailable(imagefs: FilesystemReading | null, { name, imageGCAvailable }: Policy): StillWanted {
  if (imageGCAvailable === null)
    return { rule: 'M39', reason: `policy ${name} now has no absolute threshold for images` };
  const enough = BigInt(imageGCAvailable.untilBytes);
  const believed = believeUsage('imagefs', imagefs);
  if (believed.kind === 'usage' && enough > believed.usage.capacityBytes)
    return { rule: 'M39', reason: `imagefs is smaller than the ${enough} bytes of policy ${name}` };
  return { enough, isPressed: false };
}

function ofInodes({ cause }: Reclaim, imagefs: FilesystemReading | null, policy: Policy): StillWanted {
  const { name, imageGCInodes } = policy;
  if (imageGCInodes === null)
    return { rule: 'M13', reason: `policy ${name} now removes no image to free inodes` };
  const high = imageGCInodes.highThresholdPercent;
  const below = belowThreshold('the inodes of imagefs', cause.reading, high, policy);
  if (below !== null) return below;
  const believed = believeInodes('imagefs', imagefs);
  return {
    enough: believed.kind === 'doubt' ? null : targetInodes(believed.inodes, imageGCInodes),
    isPressed: false,
  };
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
