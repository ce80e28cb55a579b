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

/** When a trouble that lasts is told again for the first time; each further time waits twice as long. */
const FIRST_REMINDER_MS = 10_000;
const MOST_REMINDER_MS = HOUR_MS;
/** What comes back sooner than this is the same trouble. */
const LASTING_CURE_MS = 60_000;

export interface LastingTrouble {
  /** To be called each time it is met: told at first and then at growing intervals, with how often it was met; else at level debug. */
  met(cause: string, fields: object, message: string): void;
  /** It is well since then, by default since now. True once for each time that a trouble was told. */
  well(sinceMs?: number): boolean;
}

interface Reported {
  readonly atMs: number;
  readonly reminderMs: number;
  readonly timesSince: number;
}

/**
 * So that the log grows with what happens and not with how long it lasts. Causes are few, such as codes of errors. It tries nothing
 * again, so that a library of retries has no place for it.
 */
export function lastingTrouble({ logger, now }: Pick<EventLogContext, 'logger' | 'now'>): LastingTrouble {
  const known = new Map<string, Reported>();
  let wellSinceMs: number | null = null;
  let isEndUntold = false;

  const forgetTheCured = (): void => {
    if (wellSinceMs !== null && now() - wellSinceMs >= LASTING_CURE_MS) known.clear();
    wellSinceMs = null;
  };

  const tell = (cause: string, reminderMs: number): void => {
    known.set(cause, { atMs: now(), reminderMs: Math.min(reminderMs, MOST_REMINDER_MS), timesSince: 0 });
    isEndUntold = true;
  };

  return {
    met: (cause, fields, message) => {
      forgetTheCured();
      const told = known.get(cause);
      if (told === undefined) {
        tell(cause, FIRST_REMINDER_MS);
        logger.warn(fields, message);
        return;
      }
      const times = told.timesSince + 1;
      if (isDue(told, now())) {
        tell(cause, 2 * told.reminderMs);
        logger.warn({ ...fields, times }, `still, ${times} times since this was last said: ${message}`);
      } else {
        known.set(cause, { ...told, timesSince: times });
        logger.debug(fields, message);
      }
    },
    well: (sinceMs = now()) => {
      wellSinceMs ??= sinceMs;
      const isFirst = isEndUntold;
      isEndUntold = false;
      return isFirst;
    },
  };
}

/** The clock may be set back. */
const isDue = ({ atMs, reminderMs }: Reported, nowMs: number): boolean =>
  nowMs < atMs || nowMs >= atMs + reminderMs;
