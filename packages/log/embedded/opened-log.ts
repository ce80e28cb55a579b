import { z } from 'zod';
import type { EventLogContext } from '../port.ts';
import { Changes, Ends } from './changes.ts';
import { type Database, openDatabase } from './database.ts';

/** What an open log consists of. */
export interface OpenedLog {
  readonly database: Database;
  readonly changes: Changes;
  readonly ends: Ends;
  readonly context: EventLogContext;
}

/** Throws `LOG_BUSY`, `LOG_FULL`, `LOG_CORRUPT` or `LOG_UNREACHABLE`. */
export async function openLogFile(
  { path, maxBytes, keepsSpace }: EmbeddedOptions,
  context: EventLogContext,
): Promise<OpenedLog> {
  const report = keepsSpace ? (message: string) => context.logger.error(message) : null;
  const database = await openDatabase(path, maxBytes, report);
  const changes = new Changes(database, path);
  return { database, changes, ends: new Ends(database, changes), context };
}

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
