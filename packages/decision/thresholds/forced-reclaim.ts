import type { FilesystemReading, FilesystemReadings } from '../../../schemas/events/filesystem.ts';
import type { Reclaim } from '../../../schemas/events/reclaim.ts';
import type { EvictionThreshold } from '../../../schemas/policy/eviction.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { clearedAt, signalWatches, thresholdsInForce, WATCHED, type Watched } from './eviction-signals.ts';
import { believeInodes, believeUsage, isUsageGcOff, targetBytes } from './filesystem-usage.ts';
import { layoutOf } from './layout.ts';
import type { StillWanted } from './usage-reclaim.ts';

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
export function forcedStillWanted(
  reclaim: Reclaim,
  filesystems: FilesystemReadings,
  policy: Policy,
): StillWanted {
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
