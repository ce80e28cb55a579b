import type { Instant } from '../../schemas/events/time.ts';
import { type ManualClock, manualClock } from './manual-clock.ts';
import { nextLook } from './next-look.ts';

/** A manual clock that also wakes those who sleep by it. */
export interface ManualTime extends ManualClock {
  /** Resolves after `ms` of this time, or when `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Lets time pass in steps of at most a second until `probe` holds; fails after `boundMs`, saying what it waited for. */
  passUntil(what: string, boundMs: number, probe: () => boolean): Promise<void>;
  /** Lets so much time pass, in steps of a second or as given. */
  pass(ms: number, stepMs?: number): Promise<void>;
}

const STEP_MS = 1_000;
/** Looks that work between two steps may take; whoever needs more works on while time passes. */
const MAX_LOOKS_PER_STEP = 10_000;

interface Sleeper {
  readonly untilMs: number;
  readonly wake: () => void;
}

/** So many sleep when nobody has anything to do. Time waits for them after each step. */
export function manualTime(expectedSleepers: () => number, start: Partial<Instant> = {}): ManualTime {
  const clock = manualClock(start);
  const sleeping = new Set<Sleeper>();
  let elapsedMs = 0;

  const step = async (ms: number): Promise<void> => {
    clock.advance(ms);
    elapsedMs += ms;
    for (const { untilMs, wake } of [...sleeping]) if (untilMs <= elapsedMs) wake();
    for (let look = 0; look < MAX_LOOKS_PER_STEP && sleeping.size < expectedSleepers(); look++)
      await nextLook(look);
  };

  const sleep = (ms: number, signal?: AbortSignal): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const sleeper: Sleeper = {
      untilMs: elapsedMs + ms,
      wake: () => {
        sleeping.delete(sleeper);
        signal?.removeEventListener('abort', sleeper.wake);
        resolve();
      },
    };
    sleeping.add(sleeper);
    signal?.addEventListener('abort', sleeper.wake);
    if (signal?.aborted) sleeper.wake();
    return promise;
  };

  return {
    ...clock,
    sleep,
    pass: async (ms, stepMs = STEP_MS) => {
      for (let left = ms; left > 0; left -= stepMs) await step(Math.min(left, stepMs));
    },
    passUntil: async (what, boundMs, probe) => {
      const endMs = elapsedMs + boundMs;
      while (!probe()) {
        if (elapsedMs >= endMs) throw new Error(`let ${boundMs} ms pass waiting for: ${what}`);
        await step(STEP_MS);
      }
    },
  };
}
