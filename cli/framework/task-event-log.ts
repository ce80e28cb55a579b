import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { toEventLogError } from '../../packages/log/embedded/errors.ts';
import { type EventLogOptions, openEventLog } from '../../packages/log/open.ts';
import type { EventLog } from '../../packages/log/port.ts';
import { waitAtMost, waitUnless } from '../../packages/log/stopping.ts';
import { requireReadable, topicsCreation } from '../../packages/log/topic-differences.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { readTextFile } from '../../packages/process/options/named-file.ts';
import { randomTraceIds } from '../../packages/process/system-sources.ts';
import { newTrace } from '../../packages/process/trace.ts';
import { type Publication, serviceSource } from '../../packages/records/publisher.ts';
import { type EventLogChoice, forTask, readEventLogSettings } from '../options/event-log-options.ts';
import type { VerbContext } from './verb.ts';

interface TaskEventLogNeeds {
  readonly options: EventLogChoice;
  readonly context: VerbContext;
  /** A task that looks at the embedded log must not make an empty one at a misspelt path. */
  readonly create?: boolean;
}

/** How often a task asks whether it still waits for brokers. */
const REPORT_EVERY_MS = 500;

/** Opens the event log for a task. What goes wrong is thrown by what the task does; a wait is reported as progress. */
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
  if (settings.kind === 'embedded') return untilInterrupted(log, context);
  const reporting = setInterval(() => {
    if (!log.health().connected)
      context.progress.report(() => `Waiting for Kafka at ${settings.brokers.join(', ')}`);
  }, REPORT_EVERY_MS);
  return untilInterrupted(
    {
      ...log,
      publish: async (records) => {
        await requireReadable(log, new Set(records.map(({ topic }) => topic)));
        return await log.publish(records);
      },
      [Symbol.asyncDispose]: async () => {
        clearInterval(reporting);
        await log[Symbol.asyncDispose]();
      },
    },
    context,
  );
}

/** How long the end of a log that may not answer is waited for once the task is to stop. */
const CLOSE_WAIT_MS = 300;

/**
 * The same log for a task: whoever stops it does not wait for brokers. What the task waits for then throws `INTERRUPTED`, so that
 * it says nothing of what it does not know.
 */
export function untilInterrupted(
  log: EventLog,
  { signal, written }: Pick<VerbContext, 'signal' | 'written'>,
): EventLog {
  const asking = <T>(work: Promise<T>): Promise<T> => orInterrupted(work, signal, ASKED);
  return {
    ...log,
    read: (request, own = signal) => log.read(request, own),
    publish: async (records) => {
      // What was begun is finished: half of it may hold nodes, as a version without its policy does.
      if (signal.aborted && !written.isBegun) throw new FleetGcError('INTERRUPTED', NOT_BEGUN);
      return await written.during(records, acknowledgedSoon(log.publish(records), signal));
    },
    createTopics: async () => {
      // Tries before this one may have created some.
      if (signal.aborted) throw new FleetGcError('INTERRUPTED', CREATED);
      return await orInterrupted(log.createTopics(), signal, CREATED);
    },
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
const NOT_BEGUN = 'stopped before it had begun to write';
const UNACKNOWLEDGED = 'stopped before the event log had acknowledged everything that was to be written';
const CREATED =
  'stopped before the event log had acknowledged the topics: some may be there. Run the same command again: it creates those that are missing';

/** How long a stop waits for brokers to acknowledge what was sent to them already. */
const ACKNOWLEDGE_MS = 1_000;

/** Who stops a command waits a moment for what is on its way, since then it is known whether it is there. */
async function acknowledgedSoon<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  await waitUnless(work, signal);
  await waitAtMost(work, ACKNOWLEDGE_MS);
  const late = new AbortController();
  late.abort();
  return await orInterrupted(work, late.signal, UNACKNOWLEDGED);
}

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

/** Throws `NOT_FOUND` for an embedded log that is not there, and `LOG_UNREACHABLE` where this user cannot find out. */
export function requireEventLogFile(settings: EventLogOptions): void {
  if (settings.kind !== 'embedded' || isThere(settings.path)) return;
  throw new FleetGcError(
    'NOT_FOUND',
    `there is no event log at ${settings.path}; is --log-path right? This makes a new one: ${topicsCreation(settings)}`,
  );
}

/** Where the directory is closed to this user, the log may be there. */
function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    throw toEventLogError(path, error);
  }
}

/** What the envelopes of an operator's records say. */
export const operatorPublication = (program = 'cli'): Publication => ({
  source: serviceSource(program),
  nowMs: Date.now(),
  trace: newTrace(randomTraceIds),
});
