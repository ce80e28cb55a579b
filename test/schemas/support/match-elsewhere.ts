import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { z } from 'zod';
import { keepMatcher } from '../../../schemas/policy/image-pattern.ts';
import { patiently } from '../../support/patience.ts';

const Task = z.strictObject({ pattern: z.string(), name: z.string() });

/** Whether a keep list of this pattern keeps an image of this name; in a thread of its own, since nothing else ends a loop that hangs. */
export async function matchElsewhere(pattern: string, name: string): Promise<boolean> {
  const worker = new Worker(import.meta.filename, { workerData: { pattern, name } });
  try {
    const [answer] = await once(worker, 'message', { signal: AbortSignal.timeout(patiently(3_000)) });
    return z.boolean().parse(answer);
  } finally {
    await worker.terminate();
  }
}

if (!isMainThread && parentPort !== null) {
  const task = Task.safeParse(workerData);
  if (task.success) {
    const { pattern, name } = task.data;
    const matches = keepMatcher({ patterns: [pattern], digests: [], labels: {} }).keptBy;
    const image = { id: 'x', repoTags: [name], repoDigests: [], labels: {} };
    parentPort.postMessage(matches(image) !== undefined);
  }
}
