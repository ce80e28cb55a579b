import type { Sleep } from '../../packages/process/back-off.ts';

/** Lets one loop sleep until something happens. */
export interface Bell {
  /** Ends the wait under way, or the next one if there is none. */
  ring(): void;
  /** Resolves when the bell rings, after `ms`, or when `signal` aborts. Never rejects. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

/** Timers cannot wait longer than 24 days; whoever waits looks again anyway. */
const LONGEST_WAIT_MS = 600_000;

export function createBell(sleep: Sleep): Bell {
  let rung = new AbortController();
  return {
    // A reason of our own: making an error for each ring costs more than the ring.
    ring: () => rung.abort('rung'),
    wait: async (ms, signal) => {
      await sleep(Math.min(ms, LONGEST_WAIT_MS), AbortSignal.any([signal, rung.signal]));
      if (rung.signal.aborted) rung = new AbortController();
    },
  };
}
