import { z } from 'zod';
import { ClusterAction } from '../events/cluster-command.ts';
import { ClusterDecisionOutcome } from '../events/cluster-decision.ts';
import {
  ClusterCommandRefusal,
  ClusterFailure,
  ClusterObjectRefusal,
  FoundLater,
} from '../events/cluster-result.ts';
import { ClusterDeciderName } from '../events/deciders.ts';
import { ClusterName } from '../events/identity.ts';
import { Approved } from '../policy/approval.ts';
import { ClusterPolicy, Collector } from '../policy/cluster-policy.ts';

const Count = z.int().nonnegative();
const EpochMs = z.int().nonnegative();

const ofKind = {
  cluster: ClusterName,
  /** `apps/ReplicaSet`. */
  kind: z.string(),
};

/** By what an object goes. */
const byRule = {
  ...ofKind,
  /** Whose work it is where FleetGC does not do it; `null` for a rule of the policy. */
  collector: Collector.nullable(),
  /** Number of the rule (docs/reference/cluster-rules.md), e.g. `D14`. */
  rule: z.string(),
};

/** Objects that FleetGC deleted. */
export const ClusterRemoved = z.object({
  ...byRule,
  /** The rule of the policy, where one let it go. */
  ownRule: z.string().nullable(),
  objects: Count,
  /** Of them those that finalizers or their grace held when the result was told. */
  waiting: Count,
});
export type ClusterRemoved = z.infer<typeof ClusterRemoved>;

/** Objects that FleetGC changed, and that stay. */
export const ClusterChanged = z.object({
  ...byRule,
  action: z.enum(ClusterAction.options.map((option) => option.shape.action.value)),
  objects: Count,
});
export type ClusterChanged = z.infer<typeof ClusterChanged>;

/** Objects of which decisions said it, each once, by the last of them. */
export const ClusterConcluded = z.object({ ...byRule, objects: Count, lastMs: EpochMs });
export type ClusterConcluded = z.infer<typeof ClusterConcluded>;

const stayed = <Reason extends z.ZodType>(reason: Reason) =>
  z.array(z.object({ ...ofKind, reason, objects: Count }));

/** An approval that was given. */
export const GivenApproval = z.object({
  cluster: ClusterName,
  what: Approved,
  by: z.string(),
  reason: z.string(),
  atMs: EpochMs,
  untilMs: EpochMs,
  /** `null`: it ends by its time. */
  withdrawnMs: EpochMs.nullable(),
});
export type GivenApproval = z.infer<typeof GivenApproval>;

export const ClusterPolicyChange = z.object({
  atMs: EpochMs,
  name: z.string(),
  policyVersion: z.int().positive(),
  hash: z.string(),
  mode: ClusterPolicy.shape.mode,
});
export type ClusterPolicyChange = z.infer<typeof ClusterPolicyChange>;

/** What `fleetgc audit report` tells of clusters. */
export const ClustersReport = z.object({
  /** Clusters with any record. */
  clusters: Count,
  decisions: z.array(
    z.object({ decider: ClusterDeciderName, outcome: ClusterDecisionOutcome, decisions: Count }),
  ),
  removed: z.array(ClusterRemoved),
  changed: z.array(ClusterChanged),
  /** Somebody was quicker than FleetGC. */
  goneAlready: Count,
  rehearsed: Count,
  held: z.array(ClusterConcluded),
  /** Under a policy in dry-run. */
  wouldGo: z.array(ClusterConcluded),
  /** Decisions whose objects nobody can name, since their fact lies before the time of the report. */
  unnamed: Count,
  refused: stayed(ClusterObjectRefusal),
  failed: stayed(ClusterFailure),
  /** What an executor announced and never reported, by what a later one found. */
  unreported: z.array(z.object({ ...ofKind, found: FoundLater, objects: Count })),
  /** Commands that were refused whole; none of their objects is counted elsewhere. */
  refusedCommands: z.array(
    z.object({ cluster: ClusterName, reason: ClusterCommandRefusal, commands: Count }),
  ),
  policyChanges: z.array(ClusterPolicyChange),
  approvals: z.array(GivenApproval),
});
export type ClustersReport = z.infer<typeof ClustersReport>;
