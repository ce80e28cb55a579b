import type { EventLog } from '../../packages/event-log/port.ts';
import { waitAtMost } from '../../packages/event-log/stopping.ts';
import { FleetGcError } from '../../packages/process/errors.ts';

/** How long the end of a log that may not answer is waited for once the task is to stop. */
const LAST_WORDS_MS = 300;

/**
 * The same log for a task: whoever stops it does not wait for brokers. What the task waits for then throws `INTERRUPTED`, so that
 * it says nothing of what it does not know.
 */
export function untilInterrupted(log: EventLog, signal: AbortSignal): EventLog {
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
      await (signal.aborted ? waitAtMost(closed, LAST_WORDS_MS) : closed);
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
