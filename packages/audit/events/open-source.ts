import { randomUUID } from 'node:crypto';
import pino from 'pino';
import type { ArchiveLog } from '../../archive/read-archive.ts';
import type { ArchivePlace } from '../../archive/store.ts';
import { type EventLogOptions, openEventLog } from '../../log/open.ts';
import type { RecordedLog } from '../../records/read-log.ts';

/** What a thread reads by itself: an event log, or an archive. */
export type WorkerSource =
  | { readonly kind: 'log'; readonly settings: EventLogOptions }
  | { readonly kind: 'archive'; readonly place: ArchivePlace };

/** An archive is read with a library that need not be installed. */
export async function openSource(source: WorkerSource): Promise<RecordedLog | ArchiveLog> {
  if (source.kind === 'archive')
    return await (await import('../../archive/read-archive.ts')).openArchiveLog(source.place);
  return await openEventLog(source.settings, {
    logger: pino({ level: 'silent' }),
    now: Date.now,
    random: Math.random,
    newId: randomUUID,
  });
}
