import type { MessagePort } from 'node:worker_threads';
import { toFleetGcError } from '../../process/errors.ts';
import type { RecordedLog } from '../../records/read-log.ts';
import { findDecider } from '../deciders/deciders.ts';
import { openSource } from '../events/open-source.ts';
import { readPoliciesInForce } from '../policies/policies-in-force.ts';
import { readPolicyHistory } from '../policies/policy-history.ts';
import { openDecisionHeads } from './heads/decision-heads.ts';
import { createVerifier, type PartitionProgress, type PartitionVerifier } from './verify-partition.ts';
import type { WorkerAnswer, WorkerOrder, WorkerTask } from './verify-threads.ts';

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
