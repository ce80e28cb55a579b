import { inventoryTimes } from '../../packages/audit/events/reading.ts';
import { openEventLog } from '../../packages/log/open.ts';
import { DAY_MS } from '../../packages/process/durations.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { readTextFile } from '../../packages/process/options/named-file.ts';
import { systemSources } from '../../packages/process/system-sources.ts';
import type { ProjectedLog } from '../../packages/read-model/read.ts';
import { forAsking, readEventLogSettings } from '../options/event-log-options.ts';
import { openAuditLog } from './audit-log.ts';
import { requireEventLogFile } from './task-event-log.ts';
import type { VerbContext } from './verb.ts';

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
