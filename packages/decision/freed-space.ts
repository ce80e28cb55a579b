import type { FilesystemName } from '../../schemas/events/filesystem.ts';
import type { Measured } from '../../schemas/events/result.ts';

/**
 * What a removal freed. Two readings of a disk tell what it gained, less what others wrote in between: with less free space
 * afterwards than before they tell nothing of the removal, and what the plan counted it with is all there is.
 */
export type FreedSpace =
  | { readonly how: 'measured'; readonly bytes: bigint; readonly filesystem: FilesystemName }
  | {
      readonly how: 'not-measurable';
      readonly why: 'no-reading' | 'filled-meanwhile';
      /** `null`: nobody counted it before. */
      readonly estimatedBytes: bigint | null;
    };

export function freedSpace(measured: Measured | null, estimatedBytes: number | null): FreedSpace {
  const estimate = estimatedBytes === null ? null : BigInt(estimatedBytes);
  if (measured === null) return { how: 'not-measurable', why: 'no-reading', estimatedBytes: estimate };
  const bytes = BigInt(measured.afterBytes) - BigInt(measured.beforeBytes);
  return bytes < 0n
    ? { how: 'not-measurable', why: 'filled-meanwhile', estimatedBytes: estimate }
    : { how: 'measured', bytes, filesystem: measured.filesystem };
}

/** The best that is known of it: as measured, else as estimated; `null` where nobody knows. */
export const knownBytes = (freed: FreedSpace): bigint | null =>
  freed.how === 'measured' ? freed.bytes : freed.estimatedBytes;

/** What many removals freed. What was measured and what was estimated are never one number. */
export interface FreedSums {
  readonly freedBytes: bigint;
  /** Removals of which nobody could measure the effect. */
  readonly unmeasured: number;
  /** What the plan counted those with. */
  readonly estimatedBytes: bigint;
}

export const NOTHING_FREED: FreedSums = { freedBytes: 0n, unmeasured: 0, estimatedBytes: 0n };

export const withFreed = (sums: FreedSums, freed: FreedSpace): FreedSums =>
  freed.how === 'measured'
    ? { ...sums, freedBytes: sums.freedBytes + freed.bytes }
    : {
        ...sums,
        unmeasured: sums.unmeasured + 1,
        estimatedBytes: sums.estimatedBytes + (freed.estimatedBytes ?? 0n),
      };

export const addFreed = (a: FreedSums, b: FreedSums): FreedSums => ({
  freedBytes: a.freedBytes + b.freedBytes,
  unmeasured: a.unmeasured + b.unmeasured,
  estimatedBytes: a.estimatedBytes + b.estimatedBytes,
});
