import type { Sleep } from './backoff.ts';
import { LinkedController } from './linked-controller.ts';

/** Work that goes on until a signal aborts. */
type Loop = (signal: AbortSignal) => Promise<void>;

/** Runs the loops until the signal aborts and all have ended. If one fails, so do all, with its error. */
export async function runTogether(loops: readonly Loop[], signal: AbortSignal): Promise<void> {
  using ending = new LinkedController(signal);
  const ends = loops.map(async (loop) => {
    try {
      await loop(ending.signal);
    } catch (error) {
      ending.abort();
      throw error;
    }
  });
  const failed = (await Promise.allSettled(ends)).find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}

/** Runs `work` now and then `ms` after each end, until the signal aborts. Rejects with what `work` rejects with. */
export async function runEvery(
  ms: number,
  work: () => Promise<void> | void,
  { sleep, signal }: { readonly sleep: Sleep; readonly signal: AbortSignal },
): Promise<void> {
  while (!signal.aborted) {
    await work();
    await sleep(ms, signal);
  }
}

/** Resolves when the signal aborts. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => resolve(), { once: true });
  if (signal.aborted) resolve();
  return promise;
}

/** Lets one loop sleep until something happens. */
interface WakeSignal {
  /** Ends the wait under way, or the next one if there is none. */
  wake(): void;
  /** Resolves when woken, after `ms`, or when `signal` aborts. Never rejects. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

/** Timers cannot wait longer than 24 days; whoever waits looks again anyway. */
const LONGEST_WAIT_MS = 600_000;

export function createWakeSignal(sleep: Sleep): WakeSignal {
  let woken = new AbortController();
  return {
    // A reason of our own: making an error for each call costs more than the call.
    wake: () => woken.abort('woken'),
    wait: async (ms, signal) => {
      // Each AbortSignal.any leaves something behind, for as long as the signal lives: as long as the process.
      const waiting = woken;
      const end = (): void => waiting.abort('stopped');
      signal.addEventListener('abort', end);
      if (signal.aborted) end();
      await sleep(Math.min(ms, LONGEST_WAIT_MS), waiting.signal);
      signal.removeEventListener('abort', end);
      if (woken.signal.aborted) woken = new AbortController();
    },
  };
}
