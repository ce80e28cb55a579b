import type { ArchiveLog } from '../../packages/archive/read-archive.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import type { RecordedLog } from '../../packages/records/read-log.ts';
import { type AuditLogOptions, archivePlace } from '../options/archive-options.ts';

import { openTaskEventLog } from './task-event-log.ts';
import type { VerbContext } from './verb.ts';

/** Opens the log that is asked for reading. Throws `USAGE` without a place for an archive. */
export async function openAuditLog(
  { log, archive, ...others }: AuditLogOptions,
  context: VerbContext,
): Promise<RecordedLog | ArchiveLog> {
  if (log !== 'archive') return await openTaskEventLog({ options: { ...others, log }, context });
  if (archive === undefined)
    throw new FleetGcError('USAGE', '--log archive needs --archive, the place of the archive');
  const { openArchiveLog } = await loadArchiveCode(() => import('../../packages/archive/read-archive.ts'));
  return await openArchiveLog(archivePlace(archive, others));
}

/** Loads code that needs DuckDB. Throws `NOT_FOUND` where that is not installed. */
export async function loadArchiveCode<Code>(load: () => Promise<Code>): Promise<Code> {
  try {
    return await load();
  } catch (cause) {
    throw isMissing(cause) ? notInstalled(cause) : cause;
  }
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  error.code === 'MODULE_NOT_FOUND' &&
  error.message.includes('@duckdb/');

const notInstalled = (cause: unknown): FleetGcError =>
  new FleetGcError(
    'NOT_FOUND',
    'archives are written and read with DuckDB, whose binary is not installed here: the container image leaves it out for its size. Run "npm ci" in the source, and the verb from there',
    { cause },
  );
