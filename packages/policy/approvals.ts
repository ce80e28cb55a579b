import type { ClusterIdentity } from '../../schemas/events/identity.ts';
import { type ApprovalRecord, type Approved, approvalKey } from '../../schemas/policy/approval.ts';
import { deriveId } from '../canonical/ids.ts';
import { DAY_MS } from '../process/durations.ts';
import type { StoredPolicies } from './stored-policies.ts';

/** Who approves what, and for how long. */
export interface Approving extends ClusterIdentity {
  readonly what: Approved;
  readonly forMs: number;
  readonly by: string;
  readonly reason: string;
  /** Epoch milliseconds. */
  readonly nowMs: number;
}

export const approvalOf = ({
  cluster,
  clusterInstance,
  what,
  forMs,
  by,
  reason,
  nowMs,
}: Approving): ApprovalRecord => ({
  type: 'fleetgc.approval',
  version: 1,
  id: deriveId('approval', approvalKey({ cluster, what }), String(nowMs)),
  cluster,
  clusterInstance,
  what,
  approvedAtMs: nowMs,
  untilMs: nowMs + forMs,
  by,
  reason,
});

/** Keys of those of a cluster that ended a day ago, whatever clock is asked: nobody has to keep them. */
export const endedApprovals = (
  { approvals }: Pick<StoredPolicies, 'approvals'>,
  cluster: string,
  nowMs: number,
): readonly string[] =>
  [...approvals].flatMap(([key, each]) =>
    each.cluster === cluster && each.untilMs + DAY_MS < nowMs ? [key] : [],
  );
