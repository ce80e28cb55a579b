import { z } from 'zod';
import type { WorkerSource } from '../../packages/audit/events/open-source.ts';
import { readTextFile } from '../../packages/process/options/named-file.ts';
import { Text, withMeta } from '../../packages/process/options/options.ts';
import { archivePlace, s3Options } from './archive-place.ts';
import { eventLogOptions, forTask, readEventLogSettings } from './event-log-options.ts';

/** Which log to ask: one that lives, or an archive of it. */
export const auditLogOptions = {
  ...eventLogOptions('kafka'),
  log: withMeta(z.enum(['kafka', 'embedded', 'archive']).prefault('kafka'), {
    description: 'kafka for a fleet, embedded for one machine, archive for what was archived of either.',
  }),
  archive: withMeta(Text.optional(), {
    placeholder: 'DIRECTORY|URL',
    description: 'Where the archive is, for --log archive: a directory, or s3://BUCKET/PREFIX.',
  }),
  ...s3Options,
};

const AuditLogOptions = z.object(auditLogOptions);
export type AuditLogOptions = z.infer<typeof AuditLogOptions>;

/** For threads that open it by themselves. */
export function threadSource({ log, archive, ...others }: AuditLogOptions): WorkerSource {
  if (log === 'archive') return { kind: 'archive', place: archivePlace(archive ?? '', others) };
  const settings = readEventLogSettings({ ...others, log }, { clientId: 'fleetgc-audit', readTextFile });
  return { kind: 'log', settings: forTask(settings) };
}
