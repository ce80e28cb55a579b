import { backoffMs, type RetryBackoff } from '../../../packages/process/backoff.ts';
import type { ErrorCode } from '../../../packages/process/error-codes.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import type { ClusterInstant } from '../../../schemas/events/cluster-objects.ts';
import type { AgentFact, AgentParts } from './agent-parts.ts';

const BACKOFF: RetryBackoff = { firstMs: 500, mostMs: 30_000 };

/** Of what is published as it is, why no later try would do. */
const NEVER: Readonly<Partial<Record<ErrorCode, string>>> = {
  LOG_RECORD_TOO_LARGE: 'the event log can never take it',
  EVENT_REJECTED: 'no decision service would read it',
};

/** What cannot be published waits, and so does what comes after it; what never can be is given up, so that all else goes on. */
export async function publishUntilDone(
  { publish, sleep, random, logger }: Pick<AgentParts, 'publish' | 'sleep' | 'random' | 'logger'>,
  fact: AgentFact,
  signal: AbortSignal,
): Promise<void> {
  for (let attempt = 0; !signal.aborted; attempt++) {
    try {
      await publish(fact);
      return;
    } catch (error) {
      const foreseen = toFleetGcError(error);
      const never = NEVER[foreseen.code];
      if (never !== undefined) {
        logger.error({ err: foreseen, fact: fact.id }, `${fact.type} is given up: ${never}`);
        return;
      }
      if (!foreseen.retry) throw foreseen;
      logger.warn(
        { err: foreseen },
        `${fact.type} cannot be published; it waits, and so does what comes after it`,
      );
      await sleep(backoffMs(BACKOFF, attempt, random), signal);
    }
  }
}

/** `null` while the API server's time is not known: then nothing is published. */
export function takenAt({
  connection,
  nowMs,
}: Pick<AgentParts, 'connection' | 'nowMs'>): ClusterInstant | null {
  const time = connection.clock.at(nowMs());
  return time && { serverMs: time.earliestMs, spreadMs: time.latestMs - time.earliestMs };
}
