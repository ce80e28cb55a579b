import type { FilesystemReadings } from '../../../schemas/filesystem.ts';
import type { Measured } from '../../../schemas/result.ts';
import { type Effect, guessedInodes } from './effect.ts';
import type { ListedObject } from './listed-object.ts';

/** Below zero where something else wrote more meanwhile. */
export const freedBytes = ({ beforeBytes, afterBytes }: Measured): bigint =>
  BigInt(afterBytes) - BigInt(beforeBytes);

export const imageEffect = (bytes: bigint, { imagefs }: FilesystemReadings): Effect => ({
  filesystem: 'imagefs',
  bytes,
  inodes: guessedInodes(bytes, imagefs),
});

/** Of what is no image: as it was measured; `null` where nobody did. */
export const measuredEffect = (measured: Measured | null): Effect | null =>
  measured && { filesystem: measured.filesystem, bytes: atLeastNothing(freedBytes(measured)), inodes: 0n };

/** What an object that really went would still take up. */
export function keptEffect(
  object: ListedObject,
  measured: Measured | null,
  filesystems: FilesystemReadings,
): Effect | null {
  if (object.kind !== 'image') return measuredEffect(measured);
  const freed = measured && freedBytes(measured);
  return imageEffect(freed !== null && freed > 0n ? freed : BigInt(object.entry.sizeBytes), filesystems);
}

const atLeastNothing = (bytes: bigint): bigint => (bytes < 0n ? 0n : bytes);
