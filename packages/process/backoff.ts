import { FleetGcError, toFleetGcError } from './errors.ts';

/*
 * Our own, and not cockatiel's: it takes time and chance from the machine, while a simulation has a time of its own, and
 * what runs for ever counts its failures from its last success. What a library would take over
 * is the two lines of `backoffMs`.
 */

/** Doubling waits with jitter: attempt 0 waits about `firstMs`, and no wait is longer than `mostMs`. */
export interface RetryBackoff {
  readonly firstMs: number;
  readonly mostMs: number;
}

/** Half of the wait is certain, half is chance, so that many members do not come back in step. */
export function backoffMs(backoff: RetryBackoff, attempt: number, random: () => number): number {
  const whole = Math.min(backoff.firstMs * 2 ** Math.min(attempt, 30), backoff.mostMs);
  return Math.round(whole / 2 + (whole / 2) * random());
}

/** Resolves after `ms`, or at once when `signal` aborts. Never rejects. Injected, so that tests wait for nothing. */
export type Sleep = (ms: number, signal?: AbortSignal) => Promise<void>;

interface Retrying {
  readonly backoff: RetryBackoff;
  readonly sleep: Sleep;
  readonly random: () => number;
  readonly onFailure: (error: FleetGcError) => void;
}

/** Tries until it succeeds. Rejects with what no retry mends, and with `INTERRUPTED` when the signal aborts first. */
export async function retried<T>(
  work: () => Promise<T>,
  { backoff, sleep, random, onFailure }: Retrying,
  signal: AbortSignal,
): Promise<T> {
  for (let attempt = 0; !signal.aborted; attempt++) {
    try {
      return await work();
    } catch (thrown) {
      const error = toFleetGcError(thrown);
      if (!error.retry) throw error;
      if (signal.aborted) break;
      onFailure(error);
      await sleep(backoffMs(backoff, attempt, random), signal);
    }
  }
  throw new FleetGcError('INTERRUPTED', 'stopped before it was done');
}

/** By the clock of this machine. Node's own promise of a timer makes an error for each that is aborted, which costs more than the timer. */
export const pause: Sleep = (ms, signal) =>
  new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end);
    if (signal?.aborted === true) end();
  });
