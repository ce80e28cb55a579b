import { z } from 'zod';

const MEBIBYTE = 1024 * 1024;

export const EmbeddedOptions = z.strictObject({
  kind: z.literal('embedded'),
  /** The SQLite file; created when missing, with its directory. */
  path: z.string().min(1),
  /** The file never grows beyond this; the oldest records go first, and before it is reached. */
  maxBytes: z
    .int()
    .min(16 * MEBIBYTE)
    .default(1024 * MEBIBYTE),
  /** Whether retention is left to other processes: who only asks must not change what the log has to say. */
  leavesRetention: z.boolean().optional(),
  /** Whether the file keeps 25 MB, so that it can be written while its disk is full. */
  keepsSpace: z.boolean().optional(),
});
export type EmbeddedOptions = Omit<z.infer<typeof EmbeddedOptions>, 'kind'>;
