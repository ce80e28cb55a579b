import type { EventLogContext } from '../port.ts';
import { Changes, Ends } from './changes.ts';
import { type Database, openDatabase } from './database.ts';
import type { EmbeddedOptions } from './options.ts';

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
