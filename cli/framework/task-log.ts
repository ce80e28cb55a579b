import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { embeddedCreation } from '../../packages/event-log/differences.ts';
import { type EventLogOptions, openEventLog } from '../../packages/event-log/open.ts';
import type { EventLog } from '../../packages/event-log/port.ts';
import { type Publication, serviceSource } from '../../packages/pipeline/envelope.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { readTextFile } from '../../packages/process/options/named-file.ts';
import { newTrace } from '../../packages/process/trace.ts';
import { randomTraceIds } from '../../packages/process/trace-ids.ts';
import { forTask, readLogSettings } from '../options/log-settings.ts';
import type { LogOptions } from '../options/option-groups.ts';
import { untilInterrupted } from './interruptible-log.ts';
import type { VerbContext } from './verb.ts';

interface TaskLogNeeds {
  readonly options: LogOptions;
  readonly context: VerbContext;
  /** A task that looks at the embedded log must not make an empty one at a misspelt path. */
  readonly create?: boolean;
}

/** How long a task is silent about an event log that does not answer. */
const TELL_AFTER_MS = 2_000;

/** Opens the event log for a task. What goes wrong is thrown by what the task does; only a long wait is told. */
export async function openTaskLog({ options, context, create = false }: TaskLogNeeds): Promise<EventLog> {
  const settings = forTask(readLogSettings(options, { clientId: 'fleetgc-cli', readTextFile }));
  if (!create) requireLogFile(settings);
  const log = await openEventLog(settings, {
    logger: context.logger.child({}, { level: 'error' }),
    now: Date.now,
    random: Math.random,
    newId: randomUUID,
  });
  if (settings.kind === 'embedded') return untilInterrupted(log, context.signal);
  const telling = setTimeout(() => {
    if (!log.health().connected) context.logger.info(`Waiting for Kafka at ${settings.brokers.join(', ')} …`);
  }, TELL_AFTER_MS);
  return untilInterrupted(
    {
      ...log,
      [Symbol.asyncDispose]: async () => {
        clearTimeout(telling);
        await log[Symbol.asyncDispose]();
      },
    },
    context.signal,
  );
}

/** Throws `NOT_FOUND` for an embedded log that is not there. */
export function requireLogFile(settings: EventLogOptions): void {
  if (settings.kind !== 'embedded' || existsSync(settings.path)) return;
  throw new FleetGcError(
    'NOT_FOUND',
    `there is no event log at ${settings.path}; is --log-path right? This makes a new one: ${embeddedCreation(settings.path)}`,
  );
}

/** What the envelopes of an operator's records say. */
export const operatorPublication = (): Publication => ({
  source: serviceSource('cli'),
  nowMs: Date.now(),
  trace: newTrace(randomTraceIds),
});
