import type { FilesystemName, FilesystemReading } from '../../../schemas/filesystem.ts';
import type { Doubt } from './conclusion.ts';

/** Bytes of one filesystem, exact at any size (D6). */
export interface FilesystemUsage {
  readonly capacityBytes: bigint;
  readonly availableBytes: bigint;
}

export type BelievedUsage =
  | { readonly kind: 'usage'; readonly usage: FilesystemUsage }
  | { readonly kind: 'doubt'; readonly doubt: Doubt };

/**
 * Takes a reading at its word, or says why not: a missing value is not zero (A1), a capacity of zero is no disk (D5),
 * and more available than there is in all is nonsense, which is refused where the kubelet cuts it down (D4, M37).
 */
export function believeUsage(name: FilesystemName, reading: FilesystemReading | null): BelievedUsage {
  if (reading === null) return doubt('A1', `${name} could not be read`);
  if (reading.capacityBytes === null) return doubt('A1', `the capacity of ${name} could not be read`);
  if (reading.availableBytes === null) return doubt('A1', `the available space of ${name} could not be read`);
  const capacityBytes = BigInt(reading.capacityBytes);
  const availableBytes = BigInt(reading.availableBytes);
  if (capacityBytes === 0n) return doubt('D5', `${name} reports a capacity of 0 bytes`);
  if (availableBytes > capacityBytes)
    return doubt('M37', `${name} reports ${availableBytes} bytes available of ${capacityBytes} in all`);
  return { kind: 'usage', usage: { capacityBytes, availableBytes } };
}

/** Inodes of one filesystem. */
export interface InodeUsage {
  readonly inodes: bigint;
  readonly free: bigint;
}

export type BelievedInodes =
  | { readonly kind: 'inodes'; readonly inodes: InodeUsage }
  | { readonly kind: 'doubt'; readonly doubt: Doubt };

/** As `believeUsage`, for inodes: a filesystem that makes them as it goes reports 0 of them, which tells nothing. */
export function believeInodes(name: FilesystemName, reading: FilesystemReading | null): BelievedInodes {
  if (reading === null) return doubt('A1', `${name} could not be read`);
  if (reading.inodes === null) return doubt('A1', `the number of inodes of ${name} could not be read`);
  if (reading.inodesFree === null) return doubt('A1', `the free inodes of ${name} could not be read`);
  const inodes = BigInt(reading.inodes);
  const free = BigInt(reading.inodesFree);
  if (inodes === 0n) return doubt('D5', `${name} reports 0 inodes in all`);
  if (free > inodes) return doubt('M37', `${name} reports ${free} inodes free of ${inodes} in all`);
  return { kind: 'inodes', inodes: { inodes, free } };
}

const doubt = (rule: string, message: string): Extract<BelievedUsage, { kind: 'doubt' }> => ({
  kind: 'doubt',
  doubt: { rule, message: `${message}: no decision rests on it` },
});
