import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import { runTask } from './run-task.ts';
import type { SimulationAnswer, SimulationProgress, SimulationTask } from './simulations.ts';

/** Nobody sees more. */
const TELLS_EVERY_MS = 250;

/** What the thread does: one simulation, and then it ends. */
async function serve(port: MessagePort, task: SimulationTask): Promise<void> {
  const ending = new AbortController();
  const answer = (message: SimulationAnswer): void => port.postMessage(message);
  port.on('message', () => ending.abort());
  try {
    answer({ kind: 'done', outcome: await runTask(task, everyNowAndThen(answer), ending.signal) });
  } catch (thrown) {
    answer({ kind: 'failed', problem: toFleetGcError(thrown).message });
  } finally {
    port.close();
  }
}

function everyNowAndThen(
  answer: (message: SimulationAnswer) => void,
): (progress: SimulationProgress) => void {
  let toldMs = Number.NEGATIVE_INFINITY;
  return ({ done, of, records }) => {
    const nowMs = performance.now();
    if (nowMs - toldMs < TELLS_EVERY_MS) return;
    toldMs = nowMs;
    answer({ kind: 'progress', progress: { done, of, records } });
  };
}

if (parentPort !== null) void serve(parentPort, workerData);
