import type {
  FilesystemName,
  FilesystemReading,
  FilesystemReadings,
} from '../../../schemas/events/filesystem.ts';
import type { ObjectKind } from '../../../schemas/events/object-kinds.ts';
import type { Removed } from '../../../schemas/events/result.ts';
import { type FreedSpace, freedSpace, knownBytes } from '../../decision/freed-space.ts';
import { believeInodes, believeUsage } from '../../decision/thresholds/filesystem-usage.ts';
import type { ListedObject } from './listed-objects.ts';

/** What a removal frees on a filesystem. */
export interface Effect {
  readonly filesystem: FilesystemName;
  readonly bytes: bigint;
  readonly inodes: bigint;
}

/** What is free beyond what was read, by device; below zero where more is used. */
export type Shift = ReadonlyMap<string, Omit<Effect, 'filesystem'>>;

export const NO_SHIFT: Shift = new Map();

/** Filesystems on one device change together. */
export function shiftOf(
  effects: readonly Effect[],
  kept: readonly Effect[],
  readings: FilesystemReadings,
): Shift {
  const shift = new Map<string, Omit<Effect, 'filesystem'>>();
  const add = ({ filesystem, bytes, inodes }: Effect, sign: bigint): void => {
    const device = readings[filesystem]?.device;
    if (device === undefined) return;
    const before = shift.get(device) ?? { bytes: 0n, inodes: 0n };
    shift.set(device, { bytes: before.bytes + sign * bytes, inodes: before.inodes + sign * inodes });
  };
  for (const effect of effects) add(effect, 1n);
  for (const effect of kept) add(effect, -1n);
  return shift;
}

export const shiftedReadings = (
  { nodefs, imagefs, containerfs }: FilesystemReadings,
  shift: Shift,
): FilesystemReadings => ({
  nodefs: nodefs && shiftedReading(nodefs, shift),
  imagefs: imagefs && shiftedReading(imagefs, shift),
  containerfs: containerfs && shiftedReading(containerfs, shift),
});

/** A reading that nobody believes is left as it is. */
function shiftedReading(reading: FilesystemReading, shift: Shift): FilesystemReading {
  const by = shift.get(reading.device);
  if (by === undefined) return reading;
  return {
    ...reading,
    availableBytes: shifted(reading.availableBytes, reading.capacityBytes, by.bytes),
    inodesFree: shifted(reading.inodesFree, reading.inodes, by.inodes),
  };
}

/** What is free is never less than nothing, nor more than there is. */
export function shifted(free: string | null, whole: string | null, by: bigint): string | null {
  if (free === null || whole === null || BigInt(free) > BigInt(whole)) return free;
  const moved = BigInt(free) + by;
  if (moved < 0n) return '0';
  return moved > BigInt(whole) ? whole : String(moved);
}

/**
 * Nobody knows how many inodes an image takes up (M13). The guess: of those in use its share by bytes; none where the disk
 * does not count them.
 */
function guessedInodes(bytes: bigint, imagefs: FilesystemReading | null): bigint {
  const space = believeUsage('imagefs', imagefs);
  const counted = believeInodes('imagefs', imagefs);
  if (space.kind === 'doubt' || counted.kind === 'doubt') return 0n;
  const usedBytes = space.usage.capacityBytes - space.usage.availableBytes;
  const usedInodes = counted.inodes.inodes - counted.inodes.free;
  return usedBytes === 0n ? 0n : (usedInodes * bytes) / usedBytes;
}

export const imageEffect = (bytes: bigint, { imagefs }: FilesystemReadings): Effect => ({
  filesystem: 'imagefs',
  bytes,
  inodes: guessedInodes(bytes, imagefs),
});

/** Of what is no image: as it was measured; `null` where nobody could. */
export const measuredEffect = (freed: FreedSpace): Effect | null =>
  freed.how === 'measured' ? { filesystem: freed.filesystem, bytes: freed.bytes, inodes: 0n } : null;

/** What tells how much an object of a kind takes up: what the node measured when it went, or what plans count it with. */
export const SIZED_BY: Readonly<Record<ObjectKind, 'measurement' | 'plan'>> = {
  container: 'measurement',
  sandbox: 'measurement',
  'pod-log-directory': 'measurement',
  'log-symlink': 'measurement',
  image: 'plan',
};

/** What an object that really went would still take up. */
export function keptEffect(
  object: ListedObject,
  { measured, estimatedBytes }: Removed,
  filesystems: FilesystemReadings,
): Effect | null {
  if (object.kind !== 'image') return measuredEffect(freedSpace(measured, null));
  const bytes = knownBytes(freedSpace(measured, estimatedBytes)) ?? 0n;
  return imageEffect(bytes > 0n ? bytes : BigInt(object.entry.sizeBytes), filesystems);
}
