import { randomUUID } from 'node:crypto';
import type { OwnRights } from '../../packages/log/access/own-rights.ts';
import type { EventLog } from '../../packages/log/port.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { readTextFile } from '../../packages/process/options/named-file.ts';
import { type EventLogChoice, forTask, readEventLogSettings } from '../options/event-log-options.ts';
import { openTaskEventLog } from './task-event-log.ts';
import type { VerbContext } from './verb.ts';

interface LogNeeds {
  readonly context: VerbContext;
  /** Closes the log in the end. */
  readonly logs: AsyncDisposableStack;
}

/** How `doctor` comes by the event log that these options name. */
export function logAccess(options: EventLogChoice, { context, logs }: LogNeeds) {
  const { signal, logger } = context;
  return {
    prefix: options.log === 'embedded' ? '' : (options.kafkaPrefix ?? ''),
    open: async (): Promise<EventLog> => logs.use(await openTaskEventLog({ options, context })),
    rights: options.log === 'embedded' ? null : () => rightsOfLogin(options, logger),
    nowMs: Date.now,
    signal,
  };
}

async function rightsOfLogin(options: EventLogChoice, logger: VerbContext['logger']): Promise<OwnRights> {
  const settings = forTask(readEventLogSettings(options, { clientId: 'fleetgc-cli', readTextFile }));
  if (settings.kind === 'embedded') throw new FleetGcError('INTERNAL', 'the embedded log has no rights');
  const { ownRights } = await import('../../packages/log/access/own-rights.ts');
  return await ownRights(settings, {
    logger: logger.child({}, { level: 'error' }),
    now: Date.now,
    random: Math.random,
    newId: randomUUID,
  });
}
