import type { ClusterIdentity } from '../../schemas/events/identity.ts';
import type { TrustRoots } from '../../schemas/keys/trust-roots.ts';
import {
  type ApprovalRecord,
  type Approved,
  approvalKey,
  approvedName,
} from '../../schemas/policy/approval.ts';
import type { PolicySetOf } from '../../schemas/policy/policy.ts';
import type { HeldProof } from '../../schemas/reports/policy-list.ts';
import { deriveId } from '../canonical/ids.ts';
import type { LogReader } from '../log/port.ts';
import type { StoredApproval, StoredPolicies } from '../policy/stored-policies.ts';
import { deleteKeys, type PolicyWriter, writeApproval } from '../policy/write-policies.ts';
import { DAY_MS } from '../process/durations.ts';
import { FleetGcError } from '../process/errors.ts';
import { type ApprovalRequest, heldByName } from '../read-model/holds.ts';
import { readHolds } from '../read-model/read-holds.ts';
import type { Doing } from '../records/doing.ts';

interface Approving {
  readonly request: ApprovalRequest;
  /** Those that are active, with their approvals. */
  readonly policies: PolicySetOf<'cluster'>;
  /** Whose signatures count; `null` where nobody checks them. */
  readonly roots: TrustRoots | null;
  readonly forMs: number;
  readonly doing: Doing;
  /** Epoch milliseconds. */
  readonly nowMs: number;
}

/** An approval, and whose word it is what it approves. */
interface FoundApproval {
  readonly approval: ApprovalRecord;
  readonly proof: HeldProof;
}

/** The approval of what is held by that name now; nothing is written. Throws `NOT_FOUND`, `AMBIGUOUS` and `HOLD_GREW`. */
export async function approvalOfHeld(
  log: LogReader,
  { request, policies, roots, forMs, doing, nowMs }: Approving,
  signal: AbortSignal,
): Promise<FoundApproval> {
  const { cluster } = request;
  const reading = { cluster, fromMs: nowMs - DAY_MS, policies, roots, nowMs };
  const [found] = await readHolds(log, reading, signal);
  const what = heldByName(found?.holds ?? [], request);
  const approval = approvalOf({
    cluster,
    clusterInstance: found?.clusterInstance ?? '',
    what,
    forMs,
    ...doing,
    nowMs,
  });
  return { approval, proof: found?.proof ?? 'not-checked' };
}

/** Puts it into force, and lets go of those of its cluster that ended long ago. Throws as `writeStates`. */
export async function approve(
  writer: PolicyWriter,
  stored: Pick<StoredPolicies, 'approvals'>,
  approval: ApprovalRecord,
): Promise<void> {
  await writeApproval(writer, approval);
  await deleteKeys(writer, endedApprovals(stored, approval.cluster, approval.approvedAtMs));
}

export type Withdrawing = Pick<ApprovalRequest, 'cluster' | 'name' | 'as'>;

/** Approvals of that name, by record key. Throws `NOT_FOUND` where there is none. */
export function approvalsNamed(
  { approvals }: Pick<StoredPolicies, 'approvals'>,
  { cluster, name, as }: Withdrawing,
): ReadonlyMap<string, StoredApproval> {
  const found = [...approvals].filter(
    ([, each]) =>
      each.cluster === cluster && approvedName(each.what) === name && (as === null || each.what.kind === as),
  );
  if (found.length > 0) return new Map(found);
  throw new FleetGcError(
    'NOT_FOUND',
    `nothing of the name ${name} is approved in cluster ${cluster}. fleetgc held lists what is`,
  );
}

/** Who approves what, and for how long. */
export interface ApprovalGiven extends ClusterIdentity {
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
}: ApprovalGiven): ApprovalRecord => ({
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
