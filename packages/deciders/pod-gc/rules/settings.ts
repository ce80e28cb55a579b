import type { ApprovalRecord } from '../../../../schemas/policy/approval.ts';
import type { ClusterPolicy } from '../../../../schemas/policy/cluster-policy.ts';
import { Approvals } from '../../../decision/approvals.ts';
import { type KeepList, keepListOf } from '../../../decision/kept-objects.ts';

/** What of a policy the rules about pods read. */
export interface PodSettings {
  /** `kubernetes`: as upstream, less its faults. `fleetgc`: the rules of section S too. */
  readonly profile: ClusterPolicy['profile'];
  /** Pods that have ended and may stay; 0 lets all of them stay (cluster J3). */
  readonly terminatedPodGcThreshold: number;
  /** Pods that may go because their nodes are missing (cluster S1). */
  readonly mostOnMissingNodes: number;
  /** Whether pods are held one and all (cluster S2). */
  readonly holdsPods: boolean;
  readonly keep: KeepList;
  readonly approved: Approvals;
}

/** `approvals`: those in force for the cluster. */
export const podSettingsOf = (
  { profile, terminatedPodGCThreshold, limits, heldKinds, keep }: ClusterPolicy,
  approvals: readonly ApprovalRecord[],
): PodSettings => ({
  profile,
  terminatedPodGcThreshold: terminatedPodGCThreshold ?? 0,
  mostOnMissingNodes: limits.cascadeOfKind,
  holdsPods: heldKinds.includes('Pod'),
  keep: keepListOf(keep),
  approved: new Approvals(approvals),
});
