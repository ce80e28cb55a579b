import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type Publication, serviceSource } from '../shared/envelope.ts';
import { FleetGcError } from '../shared/errors.ts';
import { type EventLogOptions, openEventLog } from '../shared/event-log/open.ts';
import type { EventLog } from '../shared/event-log/port.ts';
import { readLogSettings } from '../shared/log-settings.ts';
import type { LogOptions } from '../shared/option-groups.ts';
import { readTextFile } from '../shared/text-file.ts';
import { newTrace } from '../shared/trace.ts';
import { randomTraceIds } from '../shared/trace-ids.ts';
import type { VerbContext } from '../shared/verb.ts';

interface TaskLogNeeds {
  readonly options: LogOptions;
  readonly context: VerbContext;
  /** A task that looks at the embedded log must not make an empty one at a misspelt path. */
  readonly create?: boolean;
}

/** Opens the event log for a task: nothing but warnings is told about the connection. */
export async function openTaskLog({ options, context, create = false }: TaskLogNeeds): Promise<EventLog> {
  const settings = readLogSettings(options, { clientId: 'fleetgc-cli', readTextFile });
  if (!create) requireFile(settings);
  return await openEventLog(settings, {
    logger: context.logger.child({}, { level: 'warn' }),
    now: Date.now,
    random: Math.random,
    newId: randomUUID,
  });
}

function requireFile(settings: EventLogOptions): void {
  if (settings.kind !== 'embedded' || existsSync(settings.path)) return;
  throw new FleetGcError(
    'NOT_FOUND',
    `there is no event log at ${settings.path}; is --log-path right? "fleetgc topics create --log embedded" makes a new one`,
  );
}

/** What the envelopes of an operator's records say. */
export const operatorPublication = (): Publication => ({
  source: serviceSource('cli'),
  nowMs: Date.now(),
  trace: newTrace(randomTraceIds),
});
