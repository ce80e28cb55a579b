import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type EventLogOptions, openEventLog } from '../../packages/event-log/open.ts';
import type { EventLog } from '../../packages/event-log/port.ts';
import { waitAtMost } from '../../packages/event-log/stopping.ts';
import { embeddedCreation } from '../../packages/event-log/topic-differences.ts';
import { type Publication, serviceSource } from '../../packages/pipeline/publisher.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { readTextFile } from '../../packages/process/options/named-file.ts';
import { newTrace } from '../../packages/process/trace.ts';
import { randomTraceIds } from '../../packages/process/trace-ids.ts';
import { type EventLogChoice, forTask, readEventLogSettings } from '../options/event-log-options.ts';
import type { VerbContext } from './verb.ts';

interface TaskEventLogNeeds {
  readonly options: EventLogChoice;
  readonly context: VerbContext;
  /** A task that looks at the embedded log must not make an empty one at a misspelt path. */
  readonly create?: boolean;
}

/** How long a task is silent about an event log that does not answer. */
const REPORT_AFTER_MS = 2_000;

/** Opens the event log for a task. What goes wrong is thrown by what the task does; only a long wait is told. */
export async function openTaskEventLog({
  options,
  context,
  create = false,
}: TaskEventLogNeeds): Promise<EventLog> {
  const settings = forTask(readEventLogSettings(options, { clientId: 'fleetgc-cli', readTextFile }));
  if (!create) requireEventLogFile(settings);
  const log = await openEventLog(settings, {
    logger: context.logger.child({}, { level: 'error' }),
    now: Date.now,
    random: Math.random,
    newId: randomUUID,
  });
  if (settings.kind === 'embedded') return untilInterrupted(log, context.signal);
  const reporting = setTimeout(() => {
    if (!log.health().connected) context.logger.info(`Waiting for Kafka at ${settings.brokers.join(', ')} …`);
  }, REPORT_AFTER_MS);
  return untilInterrupted(
    {
      ...log,
      [Symbol.asyncDispose]: async () => {
        clearTimeout(reporting);
        await log[Symbol.asyncDispose]();
      },
    },
    context.signal,
  );
}

/** How long the end of a log that may not answer is waited for once the task is to stop. */
const CLOSE_WAIT_MS = 300;

/**
 * The same log for a task: whoever stops it does not wait for brokers. What the task waits for then throws `INTERRUPTED`, so that
 * it says nothing of what it does not know.
 */
function untilInterrupted(log: EventLog, signal: AbortSignal): EventLog {
  const asking = <T>(work: Promise<T>): Promise<T> => orInterrupted(work, signal, ASKED);
  return {
    ...log,
    read: (request, own = signal) => log.read(request, own),
    publish: (records) => orInterrupted(log.publish(records), signal, WRITTEN),
    createTopics: () => orInterrupted(log.createTopics(), signal, WRITTEN),
    checkTopics: () => asking(log.checkTopics()),
    servers: () => asking(log.servers()),
    groups: (names) => asking(log.groups(names)),
    [Symbol.asyncDispose]: async () => {
      const closed = Promise.resolve(log[Symbol.asyncDispose]());
      await (signal.aborted ? waitAtMost(closed, CLOSE_WAIT_MS) : closed);
    },
  };
}

const ASKED = 'stopped before the event log had answered, so nothing is said of it';
const WRITTEN =
  'stopped before the event log had acknowledged what was to be written: it may be there or not, so look before you do it again';

async function orInterrupted<T>(work: Promise<T>, signal: AbortSignal, message: string): Promise<T> {
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(new FleetGcError('INTERRUPTED', message));
  signal.addEventListener('abort', onAbort);
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([work, stopped]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Throws `NOT_FOUND` for an embedded log that is not there. */
export function requireEventLogFile(settings: EventLogOptions): void {
  if (settings.kind !== 'embedded' || existsSync(settings.path)) return;
  throw new FleetGcError(
    'NOT_FOUND',
    `there is no event log at ${settings.path}; is --log-path right? This makes a new one: ${embeddedCreation(settings.path)}`,
  );
}

/** What the envelopes of an operator's records say. */
export const operatorPublication = (program = 'cli'): Publication => ({
  source: serviceSource(program),
  nowMs: Date.now(),
  trace: newTrace(randomTraceIds),
});
