import type { Sleep } from '../../../packages/process/backoff.ts';
import { runEvery } from '../../../packages/process/loops.ts';

/** What an agent does again and again, beside taking inventories. */
export type AgentTask = 'sample' | 'detect' | 'save';

/** Does the work of a task as often as it is due, until the signal aborts. Rejects with what `work` rejects with. */
export type TaskSchedule = (
  task: AgentTask,
  work: () => Promise<void> | void,
  signal: AbortSignal,
) => Promise<void>;

const EVERY_MS: Readonly<Record<AgentTask, number>> = { sample: 1_000, detect: 10_000, save: 10_000 };

/** As on a node, where nobody tells when something changed. */
export const byTheClock =
  (sleep: Sleep): TaskSchedule =>
  (task, work, signal) =>
    runEvery(EVERY_MS[task], work, { sleep, signal });
