import { z } from 'zod';
import { Fact } from '../events/decision-parts.ts';
import { Uint64 } from '../events/filesystem.ts';
import { ClusterName, NodeName } from '../events/identity.ts';
import { Inventory } from '../events/inventory.ts';
import { ObjectKind } from '../events/object-kinds.ts';
import { ReclaimAction, ReclaimTarget } from '../events/reclaim.ts';
import { Instant } from '../events/time.ts';
import { EvictionSignal } from '../policy/eviction.ts';
import { Policy } from '../policy/policy.ts';
import { PolicyFile } from '../policy/policy-file.ts';

const BY_SIGNAL = EvictionSignal.options.map((signal) => `eviction:${signal}` as const);

/**
 * What a plan is asked about: one pass as a kubelet makes them, a forced one, or what an eviction signal forces. `all`: the periodic pass
 * and each eviction signal for which the policy has a threshold.
 */
export const PlanTrigger = z.enum(['all', 'periodic', 'forced', ...BY_SIGNAL]);
export type PlanTrigger = z.infer<typeof PlanTrigger>;

/** An object of the inventory, with the rule that decided it, in words and with the facts it used. */
export const PlannedObject = z.strictObject({
  kind: ObjectKind,
  /** Of a log entry, its name. */
  id: z.string(),
  name: z.string(),
  /** As listed; `null` for what is no image. */
  sizeBytes: z.int().nonnegative().nullable(),
  /** What its removal frees once all before it are gone; `null` for what is no image, or is kept. They add up to `estimatedBytes`. */
  freedBytes: Uint64.nullable(),
  /** Number of the rule (docs/reference/rules.md). */
  rule: z.string(),
  because: z.string(),
  facts: z.record(z.string(), Fact),
});
export type PlannedObject = z.infer<typeof PlannedObject>;

const PlanTarget = z.strictObject({ ...ReclaimTarget.shape, available: Uint64 });

/** What one trigger would do alone. */
const TriggeredPlan = z.strictObject({
  trigger: PlanTrigger.exclude(['all']),
  /** For people: what decided that much or that little is removed. */
  reason: z.string(),
  actions: z.array(ReclaimAction),
  /** What the removal of images aims for; `null` where there is no such aim. */
  target: PlanTarget.nullable(),
  /** Whether the target is reached once all of it is removed; `null`: there is none, or sizes do not tell (inodes). */
  isReached: z.boolean().nullable(),
  removals: z.int().nonnegative(),
  estimatedBytes: Uint64,
});
export type TriggeredPlan = z.infer<typeof TriggeredPlan>;

const Remark = z.strictObject({ rule: z.string(), message: z.string() });

/** What would be removed from one node, in order, and what would stay, each with its reason. Nothing is removed. */
export const Plan = z.strictObject({
  type: z.literal('fleetgc.plan'),
  version: z.literal(1),
  inventory: z.strictObject({ id: z.string(), cluster: ClusterName, node: NodeName, takenAt: Instant }),
  /** The policy that holds for the node; `null`: none selects it, and everything stays. */
  policy: z
    .strictObject({
      name: z.string(),
      hash: z.string(),
      mode: Policy.shape.mode,
      profile: Policy.shape.profile,
    })
    .nullable(),
  trigger: PlanTrigger,
  /** `not-planned`: the inventory is not complete, so that nothing may go and nothing can be said of an object. */
  status: z.enum(['planned', 'not-planned']),
  /** For people: what decided that much or that little goes. */
  reason: z.string(),
  /** What is gone through, in order. */
  actions: z.array(ReclaimAction),
  /** What the removal of images aims for; `null` where there is no such aim, or several triggers have one each. */
  target: PlanTarget.nullable(),
  /** What each trigger would do alone; of one trigger it is the same as above. */
  triggers: z.array(TriggeredPlan),
  /** In the order in which they would go. */
  remove: z.array(PlannedObject),
  /** In the order of the inventory: containers, sandboxes, pod log directories, log symlinks, images. */
  keep: z.array(PlannedObject),
  /**
   * What the images in `remove` free: layers that no image has any more then, or where those are not known, and in the
   * profile `kubelet`, their listed sizes. What else goes has no size that is known before.
   */
  estimatedBytes: Uint64,
  /** Facts that were missing or impossible, and what follows from it. */
  notBelieved: z.array(Remark),
  /** Findings that decide nothing, e.g. a keep rule that matches nothing. */
  notes: z.array(Remark),
});
export type Plan = z.infer<typeof Plan>;

/** In place of a plan, where a line is not what it should be. */
export const PlanFailure = z.strictObject({
  type: z.literal('fleetgc.plan-failure'),
  version: z.literal(1),
  error: z.strictObject({
    /** Counted from 1. */
    line: z.int().positive(),
    causes: z.array(z.string()).min(1),
  }),
});
export type PlanFailure = z.infer<typeof PlanFailure>;

/** One line of the answer to many. */
export const PlanLine = z.discriminatedUnion('type', [Plan, PlanFailure]);
export type PlanLine = z.infer<typeof PlanLine>;

/** Told once in the JSON Schema of a request. */
const AskedInventory = Inventory.meta({ id: 'inventory' });

/** An inventory with what is asked about it. The policy is written as in a policy file. */
export const PlanQuestion = z.strictObject({
  inventory: AskedInventory,
  policy: PolicyFile.optional(),
  trigger: PlanTrigger.optional(),
});

/** What is asked of a plan: an inventory as it stands on the log, alone or with its own policy and trigger. */
export const PlanRequest = z.union([PlanQuestion, AskedInventory]);
