import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { MINUTE_MS } from '../../../packages/process/durations.ts';
import type { SimulationOutcome } from '../../../schemas/reports/dashboard-policies.ts';
import type { SimulationAnswer, SimulationOrder, SimulationProgress, SimulationTask } from './task.ts';

/** What a thread may keep; one that needs more ends, and takes nothing along. */
const OLD_MIB = 1_024;
const YOUNG_MIB = 24;
const MOST_MS = 30 * MINUTE_MS;
const END_WITHIN_MS = 5_000;

/** Beside the sources as one of them, beside the built program as a part of it. */
const WORKER = new URL(`./simulation-worker${extname(import.meta.url)}`, import.meta.url);

export type SimulationEnd =
  | { readonly kind: 'done'; readonly outcome: SimulationOutcome }
  | { readonly kind: 'failed'; readonly problem: string };

export interface SimulationThread {
  /** Never rejects. */
  readonly ended: Promise<SimulationEnd>;
  /** Has it end; `ended` settles then. */
  stop(): void;
}

/** Simulates in a thread of its own, so that the page is answered meanwhile; within bounds of memory and time. */
export function startSimulation(
  task: SimulationTask,
  onProgress: (progress: SimulationProgress) => void,
): SimulationThread {
  const worker = new Worker(WORKER, {
    workerData: task,
    resourceLimits: { maxOldGenerationSizeMb: OLD_MIB, maxYoungGenerationSizeMb: YOUNG_MIB },
  });
  const { promise, resolve } = Promise.withResolvers<SimulationEnd>();
  let told: SimulationEnd = { kind: 'failed', problem: 'the simulation ended by itself' };
  const fail = (problem: string): void => {
    told = { kind: 'failed', problem };
  };
  let tooLate: NodeJS.Timeout | null = null;
  // A thread that were ended in the middle of reading an archive would take the process along.
  const stop = (): void => {
    worker.postMessage('end' satisfies SimulationOrder);
    tooLate ??= setTimeout(() => void worker.terminate(), END_WITHIN_MS);
  };
  const bound = setTimeout(() => {
    fail(`it was not done within ${MOST_MS / MINUTE_MS} minutes: try fewer days`);
    worker.off('message', take);
    stop();
  }, MOST_MS);
  const take = (answer: SimulationAnswer): void => {
    if (answer.kind === 'progress') onProgress(answer.progress);
    else told = answer;
  };
  worker.on('message', take);
  worker.on('error', (error) =>
    fail(
      'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
        ? `it needs more than ${OLD_MIB} MiB of memory: try fewer days, or fleetgc audit simulate --nodes`
        : 'it could not be simulated; the logger output of the dashboard says why',
    ),
  );
  worker.once('exit', () => {
    clearTimeout(bound);
    if (tooLate !== null) clearTimeout(tooLate);
    resolve(told);
  });
  return { ended: promise, stop };
}
