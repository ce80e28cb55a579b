import type { ClusterIdentity } from '../../../../schemas/events/identity.ts';
import { approvalsInForce } from '../../../../schemas/policy/approval.ts';
import type { PolicySetOf } from '../../../../schemas/policy/policy.ts';
import { selectPolicy } from '../../../../schemas/policy/policy-selection.ts';

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
