import { z } from 'zod';
import { type ArchiveLog, openArchiveLog } from '../../audit/archive/read-archive.ts';
import { FleetGcError } from '../../shared/errors.ts';
import { logOptions } from '../../shared/option-groups.ts';
import { Text, withMeta } from '../../shared/option-types.ts';
import type { VerbContext } from '../../shared/verb.ts';
import { openTaskLog } from '../task-log.ts';

/** Which log to ask: one that lives, or an archive of it. */
export const auditLogOptions = {
  ...logOptions('kafka'),
  log: withMeta(z.enum(['kafka', 'embedded', 'archive']).prefault('kafka'), {
    description: 'kafka for a fleet, embedded for one machine, archive for what was archived of either.',
  }),
  archive: withMeta(Text.optional(), {
    placeholder: 'DIRECTORY',
    description: 'Where the archive is, for --log archive.',
  }),
};

const AuditLogOptions = z.object(auditLogOptions);

/** Opens it for reading. Throws `USAGE` without a directory for an archive. */
export async function openAuditLog(
  { log, archive, ...others }: z.infer<typeof AuditLogOptions>,
  context: VerbContext,
): Promise<ArchiveLog> {
  if (log !== 'archive') return await openTaskLog({ options: { ...others, log }, context });
  if (archive === undefined)
    throw new FleetGcError('USAGE', '--log archive needs --archive, the directory of the archive');
  return await openArchiveLog(archive);
}
