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
