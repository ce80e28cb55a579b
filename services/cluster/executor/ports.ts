import type { Share } from '../../../packages/deciders/expiry-gc/rules/own-rules.ts';
import type { GraphObject } from '../../../packages/owner-graph/graph-object.ts';
import type { OwnershipCandidate } from '../../../schemas/events/ownership.ts';
import type { Pods } from '../../../schemas/events/pods.ts';
import type { ApprovalRecord } from '../../../schemas/policy/approval.ts';
import type { ClusterPolicyRecord } from '../../../schemas/policy/cluster-policy.ts';

/** The owner graph of the cluster, where the agent that keeps it runs in the same process. */
export interface ClusterIndex {
  /** `undefined` where it is not known, and where two kinds told of it: who serves the second one could have said what is not so. */
  object(uid: string): GraphObject | undefined;
  /** What calls for something, as the graph knows it now; `null` where nothing does. */
  candidate(uid: string): OwnershipCandidate | null;
  /** Whether an owner was seen to be deleted whose kind was withdrawn since; false for all that is not sure (cluster S17). */
  isGoneWithItsKind(uid: string): boolean;
  /** The cluster was restored to an older state a short time ago (cluster S3). */
  readonly wentBack: boolean;
  readonly pods: PodIndex;
  readonly expiry: ExpiryIndex;
}

/** What an agent knows of objects whose time is over. */
export interface ExpiryIndex {
  /** How much of a kind would go by annotations or rules, at this time by the API server's clock; `null` while nobody has counted it (cluster S11). */
  shareOf(kind: string, serverMs: number): Share | null;
}

/** What an agent knows of pods. */
export interface PodIndex {
  /** `null` while nothing may be concluded from pods and nodes. */
  totals(): Pods['totals'] | null;
  /** For how long pods have named a node of that name while there is none; 0 for one that is there. */
  missingForMs(nodeName: string): number;
}

export interface IndexSource {
  /** `null` while it is not known well enough to conclude anything from it (cluster I10). */
  current(): ClusterIndex | null;
}

/** What the policies that this process follows itself say of the cluster. */
export type ClusterPolicyInForce =
  | {
      readonly kind: 'policy';
      readonly record: ClusterPolicyRecord;
      /** Of this cluster and others, and those that have ended. */
      readonly approvals: readonly ApprovalRecord[];
    }
  | { readonly kind: 'paused'; readonly reason: string }
  | { readonly kind: 'none' }
  /** They cannot be read: a pause, or another policy, could be among them. */
  | { readonly kind: 'unreadable'; readonly message: string };
