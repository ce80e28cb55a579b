import type { Sleep } from '../../packages/process/back-off.ts';

/** Runs `work` now and then `ms` after each end, until the signal aborts. Rejects with what `work` rejects with. */
export async function every(
  ms: number,
  work: () => Promise<void> | void,
  { sleep, signal }: { readonly sleep: Sleep; readonly signal: AbortSignal },
): Promise<void> {
  while (!signal.aborted) {
    await work();
    await sleep(ms, signal);
  }
}

/** What an agent does again and again, beside taking inventories. */
export type AgentTask = 'sample' | 'detect' | 'save';

/** Does the work of a task as often as it is due, until the signal aborts. Rejects with what `work` rejects with. */
export type Repeating = (
  task: AgentTask,
  work: () => Promise<void> | void,
  signal: AbortSignal,
) => Promise<void>;

const EVERY_MS: Readonly<Record<AgentTask, number>> = { sample: 1_000, detect: 10_000, save: 10_000 };

/** As on a node, where nobody tells when something changed. */
export const byTheClock =
  (sleep: Sleep): Repeating =>
  (task, work, signal) =>
    every(EVERY_MS[task], work, { sleep, signal });

type Loop = (signal: AbortSignal) => Promise<void>;

/** Runs the loops until the signal aborts and all have ended. If one fails, so do all, with its error. */
export async function together(loops: readonly Loop[], signal: AbortSignal): Promise<void> {
  const failure = new AbortController();
  const either = AbortSignal.any([signal, failure.signal]);
  const ends = loops.map(async (loop) => {
    try {
      await loop(either);
    } catch (error) {
      failure.abort();
      throw error;
    }
  });
  const failed = (await Promise.allSettled(ends)).find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}

/** Lets one loop sleep until something happens. */
interface Bell {
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
