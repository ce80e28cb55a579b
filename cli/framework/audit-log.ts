import type { ArchiveLog } from '../../packages/archive/read-archive.ts';
import { inventoryTimes } from '../../packages/audit/events/reading.ts';
import { openEventLog } from '../../packages/log/open.ts';
import { DAY_MS } from '../../packages/process/durations.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { readTextFile } from '../../packages/process/options/named-file.ts';
import { systemSources } from '../../packages/process/system-sources.ts';
import type { ProjectedLog } from '../../packages/read-model/read.ts';
import type { RecordedLog } from '../../packages/records/read-log.ts';
import { type AuditLogOptions, archivePlace } from '../options/archive-options.ts';
import { forAsking, readEventLogSettings } from '../options/event-log-options.ts';
import { openTaskEventLog, requireEventLogFile } from './task-event-log.ts';
import type { VerbContext } from './verb.ts';

/**
 * Loads code that needs DuckDB. Throws `NOT_FOUND` where that is not installed.
 */
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

type LogChoice = Parameters<typeof openAuditLog>[0];

/** A log that lives is waited for, however long it is away. */
export async function openProjectedLog(
  choice: LogChoice,
  context: VerbContext,
): Promise<ProjectedLog & AsyncDisposable> {
  const { log: kind, archive } = choice;
  if (kind === 'archive') return await openArchive(choice, archive, context);
  const settings = forAsking(
    readEventLogSettings({ ...choice, log: kind }, { clientId: 'fleetgc-dashboard', readTextFile }),
  );
  requireEventLogFile(settings);
  const log = await openEventLog(settings, { logger: context.logger, ...systemSources });
  const closing = { log, [Symbol.asyncDispose]: () => log[Symbol.asyncDispose]() };
  if (settings.kind === 'kafka')
    return {
      kind: 'kafka',
      name: `kafka ${settings.brokers.join(',')}${settings.prefix && ` ${settings.prefix}`}`,
      ...closing,
    };
  const { path } = settings;
  return { kind: 'embedded', name: `embedded ${path}`, path, ...closing };
}

async function openArchive(
  choice: LogChoice,
  directory: string | undefined,
  context: VerbContext,
): Promise<ProjectedLog & AsyncDisposable> {
  const log = await openAuditLog(choice, context);
  const times = await inventoryTimes(log, Date.now() + DAY_MS, context.signal);
  if (times === null) throw new FleetGcError('NOT_FOUND', 'there is no inventory in this archive');
  return {
    kind: 'archive',
    log,
    name: `archive ${directory}`,
    endMs: times.lastMs,
    [Symbol.asyncDispose]: async () => log[Symbol.asyncDispose](),
  };
}
