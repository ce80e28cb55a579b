import type { FilesystemReading, FilesystemReadings, Resource } from '../../../schemas/events/filesystem.ts';
import type { Reclaim, ReclaimTarget } from '../../../schemas/events/reclaim.ts';
import type { EvictionThreshold } from '../../../schemas/policy/eviction.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import type { KeptRule } from '../rule-text.ts';
import { clearedAt, signalWatches, thresholdsInForce, WATCHED, type Watched } from './eviction-signals.ts';
import {
  believeInodes,
  believeUsage,
  isUsageGcOff,
  isUsageSignal,
  layoutOf,
  targetBytes,
  targetInodes,
  USAGE_SIGNALS,
  type UsageSignal,
} from './filesystem-usage.ts';

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

/** What of one resource there is in all, and free. */
interface Amounts {
  readonly capacity: bigint;
  readonly free: bigint;
}

/**
 * A reclaim that an eviction signal began, held against the thresholds of the policy in force and this reading of the disk:
 * the policy may force nothing by now (M16), or have no such threshold any more (J9); else at most what its thresholds
 * on that disk ask for, each with its minimum reclaim (J10). Thresholds of containerfs are those of the filesystem that it
 * shares (J6).
 */
function forcedStillWanted(reclaim: Reclaim, filesystems: FilesystemReadings, policy: Policy): StillWanted {
  const { signal } = reclaim.cause;
  const { name } = policy;
  if (!policy.forcedGC)
    return { rule: 'M16', reason: `policy ${name} now lets no eviction threshold remove anything` };
  const layout = layoutOf(filesystems);
  if (layout === null)
    return { rule: 'J3', reason: 'it is not known which filesystems of the node share a disk' };
  const inForce = thresholdsInForce(policy.evictionThresholds, layout);
  if (!inForce.some((threshold) => threshold.signal === signal))
    return { rule: 'J9', reason: `policy ${name} now has no eviction threshold for ${signal}` };
  return isOfSignal(reclaim, filesystems)
    ? justified({ inForce, policy, filesystems }, reclaim)
    : { rule: 'J9', reason: `the target of the reclaim is not what ${signal} watches` };
}

/** One disk may have several names, and the target is called by that of the strictest threshold (J13). */
function isOfSignal({ cause, target }: Reclaim, filesystems: FilesystemReadings): boolean {
  const watched = signalWatches(cause.signal);
  return watched !== null && watched.resource === target.resource && isSameDisk(watched, target, filesystems);
}

const isSameDisk = (
  a: Pick<Watched, 'filesystem'>,
  b: Pick<Watched, 'filesystem'>,
  filesystems: FilesystemReadings,
): boolean => filesystems[a.filesystem]?.device === filesystems[b.filesystem]?.device;

interface Facts {
  readonly inForce: readonly EvictionThreshold[];
  readonly policy: Policy;
  readonly filesystems: FilesystemReadings;
}

function justified({ inForce, policy, filesystems }: Facts, { target }: Reclaim): StillWanted {
  const amounts = amountsOf(target, filesystems[target.filesystem]);
  if (amounts === null)
    return { rule: 'J8', reason: `what ${target.filesystem} has of ${target.resource} is not known` };
  const onDisk = inForce.filter(({ signal }) => {
    const watched = WATCHED[signal];
    return watched.resource === target.resource && isSameDisk(watched, target, filesystems);
  });
  const cleared = onDisk.map((threshold) => clearedAt(threshold, amounts.capacity));
  const isPressed = cleared.some((atLeast) => amounts.free < atLeast);
  const enough = largest([...cleared, ...usageTargets(target, filesystems, policy)]);
  return { enough: enough < amounts.capacity ? enough : amounts.capacity, isPressed };
}

/** Where the thresholds of image GC stop: a reclaim of both goes on to the strictest target, if images lie on that disk (J13). */
function usageTargets(
  { resource, filesystem }: Watched,
  filesystems: FilesystemReadings,
  policy: Policy,
): bigint[] {
  const imagefs = believeUsage('imagefs', filesystems.imagefs);
  if (resource !== 'availableBytes' || imagefs.kind === 'doubt') return [];
  if (!isSameDisk({ filesystem }, { filesystem: 'imagefs' }, filesystems)) return [];
  const { imageGCAvailable } = policy;
  return [
    ...(isUsageGcOff(policy) ? [] : [targetBytes(imagefs.usage, policy)]),
    ...(imageGCAvailable === null ? [] : [BigInt(imageGCAvailable.untilBytes)]),
  ];
}

function amountsOf({ filesystem, resource }: Watched, reading: FilesystemReading | null): Amounts | null {
  if (resource === 'availableBytes') {
    const bytes = believeUsage(filesystem, reading);
    if (bytes.kind === 'doubt') return null;
    return { capacity: bytes.usage.capacityBytes, free: bytes.usage.availableBytes };
  }
  const inodes = believeInodes(filesystem, reading);
  return inodes.kind === 'doubt' ? null : { capacity: inodes.inodes.inodes, free: inodes.inodes.free };
}

const largest = (amounts: readonly bigint[]): bigint => amounts.reduce((a, b) => (a > b ? a : b), 0n);

/** Why nothing is to be removed for a reclaim, with the rule that says so. */
interface Unwanted {
  readonly rule: KeptRule;
  readonly reason: string;
}

/** A reclaim held against the policy in force and a reading of the disk. */
type StillWanted =
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
function usageStillWanted(
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
