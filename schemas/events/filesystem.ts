import { z } from 'zod';

export const LARGEST_UINT64 = '18446744073709551615';

/**
 * An unsigned 64-bit count as decimal digits. Large filesystems pass 2^53, where a JSON number loses its last
 * digits, so counts that enter threshold arithmetic travel as text and are computed with BigInt (D6).
 */
export const Uint64 = z
  .string()
  .regex(/^(0|[1-9][0-9]{0,19})$/, { error: 'must be an unsigned 64-bit number in decimal digits' })
  .refine((digits) => digits.length < LARGEST_UINT64.length || digits <= LARGEST_UINT64, {
    error: 'must be an unsigned 64-bit number in decimal digits',
  });

/** The kubelet's names: the node's root, the images, the containers' writable layers. */
export const FilesystemName = z.enum(['nodefs', 'imagefs', 'containerfs']);
export type FilesystemName = z.infer<typeof FilesystemName>;

/** What of a filesystem runs out. */
export const Resource = z.enum(['availableBytes', 'inodesFree']);
export type Resource = z.infer<typeof Resource>;

/** statfs of one filesystem. `null` means that the value could not be had, never zero (A1, A2). */
export const FilesystemReading = z.object({
  mountpoint: z.string(),
  /** Tells filesystems apart: equal on two readings of the same filesystem of one node. */
  device: z.string(),
  capacityBytes: Uint64.nullable(),
  /** What an unprivileged process may still use (f_bavail). */
  availableBytes: Uint64.nullable(),
  inodes: Uint64.nullable(),
  inodesFree: Uint64.nullable(),
});
export type FilesystemReading = z.infer<typeof FilesystemReading>;

/** Readings of one instant; a filesystem that could not be read is `null`. */
export const FilesystemReadings = z.object({
  nodefs: FilesystemReading.nullable(),
  imagefs: FilesystemReading.nullable(),
  containerfs: FilesystemReading.nullable(),
});
export type FilesystemReadings = z.infer<typeof FilesystemReadings>;
