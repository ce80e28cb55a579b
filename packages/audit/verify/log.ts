import { extname } from 'node:path';
import { type MessagePort, Worker } from 'node:worker_threads';
import { NODE_PARTITIONS } from '../../../schemas/events/topics.ts';
import { type ErrorCode, FleetGcError, toFleetGcError } from '../../process/errors.ts';
import type { RecordedLog, TimeRange } from '../../records/read-log.ts';
import { findDecider } from '../deciders/deciders.ts';
import { placeOf } from '../events/log-position.ts';
import { openSource, type WorkerSource } from '../events/open-source.ts';
import { ALL_PARTITIONS, type ReadingProgress } from '../events/reading.ts';
import { readPoliciesInForce } from '../policies/policies-in-force.ts';
import { type PolicyHistory, readPolicyHistory } from '../policies/policy-history.ts';
import { type HeadsAsked, openDecisionHeads } from './decision-heads.ts';
import { createCollector, type Found, mergeFound } from './findings.ts';
import { createVerifier, type PartitionProgress, type PartitionVerifier } from './partition.ts';

interface VerifyNeeds {
  readonly policies: PolicyHistory;
  /** As many partitions are verified at a time. */
  readonly verifiers: readonly PartitionVerifier[];
  readonly onProgress: (progress: ReadingProgress) => void;
}

/**
 * Decides every recorded decision again and follows every command and result, partition by partition. Throws
 * `INTERRUPTED` when `signal` aborts: what was not read is not verified. Not by `readNodes`, as other audits read: to decide again is
 * work for every processor, so threads read, each over a connection of its own, and only what they found comes back.
 */
export async function verifyLog(needs: VerifyNeeds, signal: AbortSignal): Promise<Found> {
  const found: Found[] = [policyProblems(needs.policies)];
  const partitions = ALL_PARTITIONS.values();
  const tell = progressOf(needs.onProgress);
  const work = async (verify: PartitionVerifier): Promise<void> => {
    // All share one iterator: each takes the next partition that nobody has.
    for (const partition of partitions) {
      found.push(await verify(partition, (progress) => tell(partition, progress), signal));
      tell(partition, { part: 1, records: found.at(-1)?.counts.records ?? 0 });
    }
  };
  await Promise.all(needs.verifiers.map(work));
  return mergeFound(found);
}

/** Told to stop in the middle. */
export const stopped = (): FleetGcError =>
  new FleetGcError('INTERRUPTED', 'stopped before the end: nothing is said of what was not read');

function policyProblems({ problems }: PolicyHistory): Found {
  const { deviation, found } = createCollector();
  for (const { record, message } of problems)
    deviation({ kind: 'policy-changed', message, node: null, places: [placeOf(record)] });
  return found();
}

function progressOf(onProgress: VerifyNeeds['onProgress']) {
  const parts = new Map<number, PartitionProgress>();
  return (partition: number, progress: PartitionProgress): void => {
    parts.set(partition, progress);
    const all = [...parts.values()];
    const sum = (of: (one: PartitionProgress) => number): number =>
      all.reduce((total, one) => total + of(one), 0);
    onProgress({
      done: sum(({ part }) => part),
      of: NODE_PARTITIONS,
      records: sum(({ records }) => records),
    });
  };
}

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

interface VerifyThreads extends AsyncDisposable {
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

interface OpenVerifier {
  readonly log: RecordedLog;
  readonly verify: PartitionVerifier;
}

async function openVerifier(
  { source, range, nowMs, heads }: WorkerTask,
  signal: AbortSignal,
): Promise<OpenVerifier> {
  const log = await openSource(source);
  const deletes = source.kind !== 'archive';
  const headed = heads && openDecisionHeads(log, { ...heads, range, nowMs });
  const policies = await readPolicyHistory(log, signal);
  const inForce = await readPoliciesInForce(log, { nowMs, deletes, written: policies }, signal);
  const parts = { log, policies, inForce, findDecider, range, nowMs, deletes, headed };
  return { log, verify: createVerifier(parts) };
}

/** What a thread does: one partition after another, as the first thread orders, until it says that this was all. */
export function servePartitions(port: MessagePort, task: WorkerTask): void {
  const ending = new AbortController();
  const { signal } = ending;
  const answer = (message: WorkerAnswer): void => port.postMessage(message);
  const opening = openVerifier(task, signal);
  // Whoever asks for a partition is told why; until then nobody has to hear of it.
  opening.catch(() => undefined);
  const verify = async (partition: number): Promise<void> => {
    try {
      const opened = await opening;
      const onProgress = (progress: PartitionProgress): void => answer({ kind: 'progress', progress });
      answer({ kind: 'found', found: await opened.verify(partition, onProgress, signal) });
    } catch (thrown) {
      const { code, message } = toFleetGcError(thrown);
      answer({ kind: 'failed', code, message });
    }
  };
  let inHand: Promise<void> = Promise.resolve();
  const end = async (): Promise<void> => {
    ending.abort();
    await inHand;
    await opening.then(({ log }) => log[Symbol.asyncDispose]()).catch(() => undefined);
    port.close();
  };
  port.on('message', (order: WorkerOrder) => {
    if (order.kind === 'end') void end();
    else inHand = verify(order.partition);
  });
}
