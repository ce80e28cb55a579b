import { readClusterInstance } from '../../packages/kube-api/list.ts';
import { backoffMs, type RetryBackoff } from '../../packages/process/backoff.ts';
import { toFleetGcError } from '../../packages/process/errors.ts';
import { type AgentParts, Session } from './session.ts';

/** For so long after a cluster went back to an older state, nothing that follows from absence is done (cluster S3). */
const WENT_BACK_FOR_MS = 600_000;
const BACKOFF: RetryBackoff = { firstMs: 1_000, mostMs: 30_000 };

/** Follows one cluster until the signal aborts: what of its owner graph may call for something goes to `publish`. */
export async function runClusterAgent(
  cluster: string,
  parts: AgentParts,
  signal: AbortSignal,
): Promise<void> {
  let wentBackUntilMs: number | null = null;
  while (!signal.aborted) {
    const clusterInstance = await instanceOf(parts, signal);
    if (clusterInstance === null) return;
    const session = new Session(parts, { cluster, clusterInstance, session: parts.newId(), wentBackUntilMs });
    if ((await session.run(signal)) === 'went-back') {
      wentBackUntilMs = parts.nowMs() + WENT_BACK_FOR_MS;
      parts.logger.warn(
        'the cluster is in an older state than before: it was restored, and all is read anew',
      );
    }
  }
}

/** Asks until the API server answers; `null` when the signal aborted first. */
async function instanceOf(
  { connection, sleep, random, logger }: AgentParts,
  signal: AbortSignal,
): Promise<string | null> {
  for (let attempt = 0; !signal.aborted; attempt++) {
    try {
      return await readClusterInstance(connection);
    } catch (error) {
      const foreseen = toFleetGcError(error);
      if (!foreseen.retry) throw foreseen;
      logger.warn({ err: foreseen }, 'the API server cannot be asked which cluster it is');
      await sleep(backoffMs(BACKOFF, attempt, random), signal);
    }
  }
  return null;
}
