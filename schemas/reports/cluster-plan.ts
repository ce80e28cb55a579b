import { z } from 'zod';
import { OwnRuleName } from '../events/cluster-command.ts';
import { ClusterDecisionOutcome, ClusterVerdict } from '../events/cluster-decision.ts';
import { ClusterObject, ObjectText } from '../events/cluster-objects.ts';
import { Fact } from '../events/decision-parts.ts';
import { ObjectUid } from '../events/identity.ts';
import { ClusterPolicy, Collector } from '../policy/cluster-policy.ts';

/** An object as people and programs name it. */
export const NamedObject = z.strictObject(
  ClusterObject.pick({ group: true, kind: true, namespace: true, name: true, uid: true }).shape,
);
export type NamedObject = z.infer<typeof NamedObject>;

/** The policy that was asked for. */
export const AskedPolicy = z.strictObject({
  name: z.string(),
  hash: z.string(),
  mode: ClusterPolicy.shape.mode,
  profile: ClusterPolicy.shape.profile,
});

/** A kind of which nothing is said, and why. */
export const UnreadKind = z.strictObject({ group: ObjectText, kind: ObjectText, reason: z.string() });
export type UnreadKind = z.infer<typeof UnreadKind>;

export const PlannedAction = z.strictObject({
  ...NamedObject.shape,
  action: ClusterVerdict.shape.action,
  /** Number of the rule (docs/reference/cluster-rules.md). */
  rule: z.string(),
  because: z.string(),
  facts: z.record(z.string(), Fact),
  /** 1 for what would be done now; what follows from a wave comes in the next one. */
  wave: z.int().positive(),
});
export type PlannedAction = z.infer<typeof PlannedAction>;

/** What one collector would do now. */
export const CollectorPlan = z.strictObject({
  collector: Collector,
  /** As of its decisions: `not-ours` where the policy does not give it to FleetGC. */
  outcome: ClusterDecisionOutcome,
  /** What would be done, and what is held; then what stays of what was looked at. */
  objects: z.array(PlannedAction),
});
export type CollectorPlan = z.infer<typeof CollectorPlan>;

/** What one rule of the policy would do now. */
export const RulePlan = z.strictObject({
  rule: OwnRuleName,
  /** As of its decisions. */
  outcome: ClusterDecisionOutcome,
  /** What would be done, and what is held; then what stays of what it is for. What it never deletes is not told (cluster S9). */
  objects: z.array(PlannedAction),
});
export type RulePlan = z.infer<typeof RulePlan>;

/** What the collectors would do in one cluster as it is now. Nothing is changed. */
export const ClusterPlan = z.strictObject({
  type: z.literal('fleetgc.cluster-plan'),
  version: z.literal(1),
  /** The uid of its namespace kube-system. */
  clusterInstance: ObjectUid,
  policy: AskedPolicy,
  totals: z.strictObject({ kinds: z.int().nonnegative(), objects: z.int().nonnegative() }),
  collectors: z.array(CollectorPlan),
  /** In the order of the policy; none where it has no rules. */
  rules: z.array(RulePlan),
  unreadKinds: z.array(UnreadKind),
  failedGroups: z.array(ObjectText),
  /** Kinds of this cluster on which the role that `cluster rbac` prints has no right unless it is asked for. */
  leftOutKinds: z.array(ObjectText),
});
export type ClusterPlan = z.infer<typeof ClusterPlan>;
