import { randomUUID } from 'node:crypto';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import pino from 'pino';
import { toFleetGcError } from '../../shared/errors.ts';
import { openEventLog } from '../../shared/event-log/open.ts';
import { findDecider } from '../deciders/deciders.ts';
import { readPolicyHistory } from '../policy-history.ts';
import { createVerifier, type PartitionVerifier } from './verify-partition.ts';
import type { WorkerAnswer, WorkerOrder, WorkerTask } from './worker-messages.ts';

/** The thread is ended from outside, in the middle of whatever it does. */
const { signal } = new AbortController();

async function openVerifier({ settings, range, nowMs }: WorkerTask): Promise<PartitionVerifier> {
  const log = await openEventLog(settings, {
    logger: pino({ level: 'silent' }),
    now: Date.now,
    random: Math.random,
    newId: randomUUID,
  });
  const policies = await readPolicyHistory(log, signal);
  return createVerifier({ log, policies, findDecider, range, nowMs, deletes: true });
}

function serve(port: MessagePort, task: WorkerTask): void {
  const answer = (message: WorkerAnswer): void => port.postMessage(message);
  const opening = openVerifier(task);
  const verify = async ({ partition }: WorkerOrder): Promise<void> => {
    try {
      const found = await (await opening)(
        partition,
        (progress) => answer({ kind: 'progress', progress }),
        signal,
      );
      answer({ kind: 'found', found });
    } catch (thrown) {
      const { code, message } = toFleetGcError(thrown);
      answer({ kind: 'failed', code, message });
    }
  };
  port.on('message', (order: WorkerOrder) => void verify(order));
}

if (parentPort !== null) serve(parentPort, workerData);
