import { backoffMs, type RetryBackoff } from '../../../packages/process/backoff.ts';
import { type ErrorCode, toFleetGcError } from '../../../packages/process/errors.ts';
import type { ClusterIdentity } from '../../../schemas/events/identity.ts';
import { approvalsInForce } from '../../../schemas/policy/approval.ts';
import type { PolicySetOf } from '../../../schemas/policy/policy.ts';
import { selectPolicy } from '../../../schemas/policy/policy-selection.ts';
import type { AgentFact, AgentParts } from './ports.ts';

const BACKOFF: RetryBackoff = { firstMs: 500, mostMs: 30_000 };

/** Of what is published as it is, why no later try would do. */
const NEVER: Readonly<Partial<Record<ErrorCode, string>>> = {
  LOG_RECORD_TOO_LARGE: 'the event log can never take it',
  EVENT_REJECTED: 'no decision service would read it',
};

/** What cannot be published waits, and so does what comes after it; what never can be is given up, so that all else goes on. */
export async function publishUntilDone(
  { publish, sleep, random, logger }: AgentParts,
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

/** No more is taken into a fact that is so long: within the bounds of its topic, whatever the objects are like. */
export const LONG_FACT_CHARACTERS = 1_000_000;

/** Differs where the policy, a pause or an approval of a cluster does; `atMs` by the API server's clock. */
export function whatHolds(policies: PolicySetOf<'cluster'>, identity: ClusterIdentity, atMs: number): string {
  const selection = selectPolicy(policies, identity);
  const approvals = approvalsInForce(policies.approvals, identity, atMs);
  return JSON.stringify([
    selection.kind === 'policy' ? selection.record.hash : selection.kind,
    approvals.map(({ id }) => id),
  ]);
}

/** Who decides elsewhere may hear of a change later than the agent. */
const AGAIN_AFTER_MS = 30_000;

/** When all candidates are to be told again, since something else may be decided of them. */
export class HoldsWatch {
  #known: string | null = null;
  #againAtMs: number | null = null;

  /** `holds`: by `whatHolds`; `null` while nobody can tell. Milliseconds that only grow. */
  isChanged(holds: string | null, nowMs: number): boolean {
    const before = this.#known;
    this.#known = holds ?? before;
    if (before !== null && before !== this.#known) {
      this.#againAtMs = nowMs + AGAIN_AFTER_MS;
      return true;
    }
    if (this.#againAtMs === null || nowMs < this.#againAtMs) return false;
    this.#againAtMs = null;
    return true;
  }
}
