import type { ApprovalRecord } from '../../../../schemas/policy/approval.ts';
import type { ClusterPolicy } from '../../../../schemas/policy/cluster-policy.ts';
import { Approvals } from '../../../decision/approvals.ts';
import { type KeepList, keepListOf } from '../../../decision/kept-objects.ts';

/** What of a policy the rules about owners read. */
export interface OwnershipSettings {
  /** `kubernetes`: the end states of upstream, less its faults. `fleetgc`: the rules of section S too. */
  readonly profile: 'fleetgc' | 'kubernetes';
  readonly limits: {
    /** Objects that may go with one owner (cluster S1). */
    readonly cascade: number;
    /** Objects that may go with all missing owners of one kind (cluster S1). */
    readonly cascadeOfKind: number;
  };
  /** Kinds that are held, as `apps/ReplicaSet` (cluster S2). */
  readonly heldKinds: ReadonlySet<string>;
  readonly keep: KeepList;
  readonly approved: Approvals;
}

/** `approvals`: those in force for the cluster. */
export const settingsOf = (
  { profile, limits, heldKinds, keep }: ClusterPolicy,
  approvals: readonly ApprovalRecord[],
): OwnershipSettings => ({
  profile,
  limits,
  heldKinds: new Set(heldKinds),
  keep: keepListOf(keep),
  approved: new Approvals(approvals),
});
