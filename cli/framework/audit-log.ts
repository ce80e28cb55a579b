import type { ArchiveLog } from '../../packages/archive/read-archive.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import type { RecordedLog } from '../../packages/records/read-log.ts';
import { type AuditLogOptions, archivePlace } from '../options/archive-options.ts';
import { loadArchiveCode } from './archive-code.ts';
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
