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

const doubt = (rule: string, message: string): BelievedUsage => ({
  kind: 'doubt',
  doubt: { rule, message: `${message}: no decision rests on it` },
});
