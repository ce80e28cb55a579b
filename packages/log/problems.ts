import { HOUR_MS } from '../process/durations.ts';
import type { EventLogContext } from './port.ts';

/** What is wrong at the moment, by where. */
export interface Problems {
  /** `null` when it is well again. */
  set(where: string, problem: string | null): void;
  clear(): void;
  /** The one that came last; null when nothing is wrong. */
  latest(): string | null;
}

export function trackProblems(): Problems {
  const problems = new Map<string, string>();
  return {
    set: (where, problem) => {
      problems.delete(where);
      if (problem !== null) problems.set(where, problem);
    },
    clear: () => problems.clear(),
    latest: () => [...problems.values()].at(-1) ?? null,
  };
}

/**
 * When a problem that lasts is logged again for the first time; each further time waits twice as long.
 * @limit First reminder of a lasting problem in the log. It doubles up to `MOST_REMINDER_MS`.
 */
const FIRST_REMINDER_MS = 10_000;
const MOST_REMINDER_MS = HOUR_MS;
/** What comes back sooner than this is the same problem. */
const RESOLVED_AFTER_MS = 60_000;

export interface OngoingProblem {
  /** To be called each time it occurs: logged at first and then at growing intervals, with how often it occurred; else at level debug. */
  occurred(cause: string, fields: object, message: string): void;
  /**
   * The same of what passes by itself as a rule: it is told as information at first, and does not hide a problem of the same cause that
   * follows. After such a problem it is a part of that.
   */
  passes(cause: string, fields: object, message: string): void;
  /** It is resolved since then, by default since now. True once for each time that a problem was logged. */
  resolved(sinceMs?: number): boolean;
}

interface Told {
  readonly cause: string;
  readonly fields: object;
  readonly message: string;
}

interface Reported {
  readonly atMs: number;
  readonly reminderMs: number;
  readonly timesSince: number;
}

/**
 * So that the output of the logger grows with what happens and not with how long it lasts. Causes are few, such as codes of errors. It tries nothing
 * again, so that a library of retries has no place for it.
 */
export function ongoingProblem({ logger, now }: Pick<EventLogContext, 'logger' | 'now'>): OngoingProblem {
  const known = new Map<string, Reported>();
  let resolvedSinceMs: number | null = null;
  let isEndUnlogged = false;

  const forgetResolved = (): void => {
    if (resolvedSinceMs !== null && now() - resolvedSinceMs >= RESOLVED_AFTER_MS) known.clear();
    resolvedSinceMs = null;
  };

  const noteLogged = (cause: string, reminderMs: number): void => {
    known.set(cause, { atMs: now(), reminderMs: Math.min(reminderMs, MOST_REMINDER_MS), timesSince: 0 });
    isEndUnlogged = true;
  };

  const tell = ({ cause, fields, message }: Told, firstLevel: 'warn' | 'info'): void => {
    const logged = known.get(cause);
    if (logged === undefined) {
      noteLogged(cause, FIRST_REMINDER_MS);
      logger[firstLevel](fields, message);
      return;
    }
    const times = logged.timesSince + 1;
    if (isDue(logged, now())) {
      noteLogged(cause, 2 * logged.reminderMs);
      logger.warn({ ...fields, times }, `still, ${times} times since this was last said: ${message}`);
    } else {
      known.set(cause, { ...logged, timesSince: times });
      logger.debug(fields, message);
    }
  };

  return {
    occurred: (cause, fields, message) => {
      forgetResolved();
      tell({ cause, fields, message }, 'warn');
    },
    passes: (cause, fields, message) => {
      forgetResolved();
      if (known.has(cause)) tell({ cause, fields, message }, 'warn');
      else tell({ cause: `${cause}, passing`, fields, message }, 'info');
    },
    resolved: (sinceMs = now()) => {
      resolvedSinceMs ??= sinceMs;
      const isFirst = isEndUnlogged;
      isEndUnlogged = false;
      return isFirst;
    },
  };
}

/** The clock may be set back. */
const isDue = ({ atMs, reminderMs }: Reported, nowMs: number): boolean =>
  nowMs < atMs || nowMs >= atMs + reminderMs;
