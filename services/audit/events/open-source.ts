import { randomUUID } from 'node:crypto';
import pino from 'pino';
import { type EventLogOptions, openEventLog } from '../../../packages/event-log/open.ts';
import type { RecordedLog } from '../../../packages/pipeline/read-log.ts';
import type { ArchiveLog } from '../archive/read-archive.ts';

/** What a thread reads by itself: an event log, or the archive in a directory. */
export type WorkerSource =
  | { readonly kind: 'log'; readonly settings: EventLogOptions }
  | { readonly kind: 'archive'; readonly directory: string };

/** An archive is read with a library that need not be installed. */
export async function openSource(source: WorkerSource): Promise<RecordedLog | ArchiveLog> {
  if (source.kind === 'archive')
    return await (await import('../archive/read-archive.ts')).openArchiveLog(source.directory);
  return await openEventLog(source.settings, {
    logger: pino({ level: 'silent' }),
    now: Date.now,
    random: Math.random,
    newId: randomUUID,
  });
}
