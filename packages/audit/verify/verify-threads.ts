import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { ErrorCode } from '../../process/error-codes.ts';
import { FleetGcError } from '../../process/errors.ts';
import type { TimeRange } from '../../records/read-log.ts';
import type { WorkerSource } from '../events/open-source.ts';
import type { Found } from './collected-findings.ts';
import type { HeadsAsked } from './heads/decision-heads.ts';
import { stopped } from './verify-log.ts';
import type { PartitionProgress, PartitionVerifier } from './verify-partition.ts';

/** What a thread needs to verify partitions: it opens its source by itself. */
export interface WorkerTask {
  readonly source: WorkerSource;
  readonly range: TimeRange;
  readonly nowMs: number;
  /** `null`: nobody asks for heads. */
  readonly heads: HeadsAsked | null;
}

/** To a thread: the next partition, or to close what it has open and end. */
export type WorkerOrder = { readonly kind: 'verify'; readonly partition: number } | { readonly kind: 'end' };

/** From a thread, about the partition in hand. */
export type WorkerAnswer =
  | { readonly kind: 'progress'; readonly progress: PartitionProgress }
  | { readonly kind: 'found'; readonly found: Found }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string };

/**
 * What a thread keeps of short-lived data before it looks what is still needed: it reads hundreds of megabytes a second. Beside
 * an archive there is less room, as bin/fleetgc leaves the first thread: the library that reads it is large.
 */
const YOUNG_MIB: Record<WorkerTask['source']['kind'], number> = { log: 24, archive: 12 };
const OLD_MIB = 512;

/** Beside the sources as one of them, beside the built program as a part of it. */
const WORKER = new URL(`./worker${extname(import.meta.url)}`, import.meta.url);

export interface VerifyThreads extends AsyncDisposable {
  readonly verifiers: readonly PartitionVerifier[];
}

/** Threads that verify partitions beside this one; each has a connection to the log of its own. */
export function startVerifyThreads(count: number, task: WorkerTask): VerifyThreads {
  const workers = Array.from(
    { length: count },
    () =>
      new Worker(WORKER, {
        workerData: task,
        resourceLimits: {
          maxYoungGenerationSizeMb: YOUNG_MIB[task.source.kind],
          maxOldGenerationSizeMb: OLD_MIB,
        },
      }),
  );
  return {
    verifiers: workers.map(verifierOf),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(workers.map(ended));
    },
  };
}

const END_WITHIN_MS = 5_000;

/** A thread that were ended in the middle of reading an archive would take the process along. */
async function ended(worker: Worker): Promise<void> {
  if (worker.threadId < 0) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  worker.once('exit', () => resolve());
  worker.postMessage({ kind: 'end' } satisfies WorkerOrder);
  const tooLate = setTimeout(() => void worker.terminate(), END_WITHIN_MS);
  await promise;
  clearTimeout(tooLate);
}

/** As much of a thread as its orders and answers need. */
export interface ServingThread {
  postMessage(order: WorkerOrder): void;
  on(event: 'message', listener: (answer: WorkerAnswer) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'exit', listener: () => void): unknown;
  off(event: 'message', listener: (answer: WorkerAnswer) => void): unknown;
  off(event: 'error', listener: (error: Error) => void): unknown;
  off(event: 'exit', listener: () => void): unknown;
}

/** Has partitions verified by a thread, one at a time. Throws what ended it there, and `INTERRUPTED` when `signal` aborts. */
export const verifierOf =
  (worker: ServingThread): PartitionVerifier =>
  async (partition, onProgress, signal) => {
    const { promise, resolve, reject } = Promise.withResolvers<Found>();
    const onMessage = (answer: WorkerAnswer): void => {
      if (answer.kind === 'progress') onProgress(answer.progress);
      else if (answer.kind === 'found') resolve(answer.found);
      else reject(new FleetGcError(answer.code, answer.message));
    };
    const onExit = (): void =>
      reject(new FleetGcError('INTERNAL', 'a thread that verifies has ended by itself'));
    const onAbort = (): void => reject(stopped());
    worker.on('message', onMessage);
    worker.on('error', reject);
    worker.on('exit', onExit);
    signal.addEventListener('abort', onAbort);
    try {
      worker.postMessage({ kind: 'verify', partition } satisfies WorkerOrder);
      return await promise;
    } finally {
      worker.off('message', onMessage);
      worker.off('error', reject);
      worker.off('exit', onExit);
      signal.removeEventListener('abort', onAbort);
    }
  };
