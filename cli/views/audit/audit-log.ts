import { z } from 'zod';
import type { RecordedLog } from '../../../packages/pipeline/read-log.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { readTextFile } from '../../../packages/process/options/named-file.ts';
import { Text, withMeta } from '../../../packages/process/options/options.ts';
import type { ArchiveLog } from '../../../services/audit/archive/read-archive.ts';
import type { WorkerSource } from '../../../services/audit/verify/verify-threads.ts';
import { openTaskEventLog } from '../../framework/task-event-log.ts';
import type { VerbContext } from '../../framework/verb.ts';
import { eventLogOptions, forTask, readEventLogSettings } from '../../options/event-log-options.ts';
import { loadArchiveCode } from './archive/load-archive-code.ts';

/** Which log to ask: one that lives, or an archive of it. */
export const auditLogOptions = {
  ...eventLogOptions('kafka'),
  log: withMeta(z.enum(['kafka', 'embedded', 'archive']).prefault('kafka'), {
    description: 'kafka for a fleet, embedded for one machine, archive for what was archived of either.',
  }),
  archive: withMeta(Text.optional(), {
    placeholder: 'DIRECTORY',
    description: 'Where the archive is, for --log archive.',
  }),
};

const AuditLogOptions = z.object(auditLogOptions);
type AuditLogOptions = z.infer<typeof AuditLogOptions>;

/** Opens it for reading. Throws `USAGE` without a directory for an archive. */
export async function openAuditLog(
  { log, archive, ...others }: AuditLogOptions,
  context: VerbContext,
): Promise<RecordedLog | ArchiveLog> {
  if (log !== 'archive') return await openTaskEventLog({ options: { ...others, log }, context });
  if (archive === undefined)
    throw new FleetGcError('USAGE', '--log archive needs --archive, the directory of the archive');
  const { openArchiveLog } = await loadArchiveCode(
    () => import('../../../services/audit/archive/read-archive.ts'),
  );
  return await openArchiveLog(archive);
}

/** The same for threads that open it by themselves. */
export function threadSource({ log, archive, ...others }: AuditLogOptions): WorkerSource {
  if (log === 'archive') return { kind: 'archive', directory: archive ?? '' };
  const settings = readEventLogSettings({ ...others, log }, { clientId: 'fleetgc-audit', readTextFile });
  return { kind: 'log', settings: forTask(settings) };
}
