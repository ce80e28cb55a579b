import { freedSpace, knownBytes } from '../../../packages/decision/freed-space.ts';
import type { FilesystemReadings } from '../../../schemas/events/filesystem.ts';
import type { Measured, Removed } from '../../../schemas/events/result.ts';
import { type Effect, guessedInodes } from './effect.ts';
import type { ListedObject } from './listed-object.ts';

/** `null`: nobody could measure it. */
export const measuredBytes = (measured: Measured | null): bigint | null =>
  knownBytes(freedSpace(measured, null));

/** As measured, else as the plan that removed it estimated it. */
export const freedBytes = ({ measured, estimatedBytes }: Removed): bigint | null =>
  knownBytes(freedSpace(measured, estimatedBytes));

export const imageEffect = (bytes: bigint, { imagefs }: FilesystemReadings): Effect => ({
  filesystem: 'imagefs',
  bytes,
  inodes: guessedInodes(bytes, imagefs),
});

/** Of what is no image: as it was measured; `null` where nobody could. */
export function measuredEffect(measured: Measured | null): Effect | null {
  const bytes = measuredBytes(measured);
  return measured === null || bytes === null ? null : { filesystem: measured.filesystem, bytes, inodes: 0n };
}

/** What an object that really went would still take up. */
export function keptEffect(
  object: ListedObject,
  removed: Removed,
  filesystems: FilesystemReadings,
): Effect | null {
  if (object.kind !== 'image') return measuredEffect(removed.measured);
  const freed = freedBytes(removed) ?? 0n;
  return imageEffect(freed > 0n ? freed : BigInt(object.entry.sizeBytes), filesystems);
}
