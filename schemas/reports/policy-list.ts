import { z } from 'zod';
import { ClusterIdentity } from '../events/identity.ts';
import { ApprovalRecord, Approved } from '../policy/approval.ts';
import { ClusterPolicyRecord } from '../policy/cluster-policy.ts';
import { PauseRecord, PolicyRecord } from '../policy/policy.ts';

const EpochMs = z.int().nonnegative();

/** When the record was written, by the log's clock. */
const dated = { appliedAtMs: EpochMs };

const ListedApproval = ApprovalRecord.safeExtend(dated);

/** What `fleetgc policy list -o json` prints. */
export const PolicyList = z.object({
  type: z.literal('fleetgc.policy-list'),
  version: z.literal(1),
  pauses: z.array(PauseRecord.safeExtend(dated)),
  /** By precedence: of those that select a node, or a cluster, the first is in force. */
  policies: z.array(
    z.discriminatedUnion('type', [PolicyRecord.safeExtend(dated), ClusterPolicyRecord.safeExtend(dated)]),
  ),
  /** Those that are in force, each with its end (`untilMs`). */
  approvals: z.array(ListedApproval),
  /** Records that nobody can read; `hold` is the pause that one amounts to, `null` where it may select any node. */
  unreadable: z.array(z.object({ key: z.string(), message: z.string(), hold: PauseRecord.nullable() })),
});
export type PolicyList = z.infer<typeof PolicyList>;

/** What `fleetgc policy show -o json` prints. */
export const ShownPolicy = z.discriminatedUnion('type', [
  PolicyRecord.safeExtend(dated),
  ClusterPolicyRecord.safeExtend({
    ...dated,
    /** Those in force in the clusters that it selects. */
    approvals: z.array(ListedApproval),
  }),
]);
export type ShownPolicy = z.infer<typeof ShownPolicy>;

/**
 * Whose word it is what is held in a cluster. `signed`: a key of role `cluster` that speaks for it signed each fact. `unsigned`: none
 * did, so whoever may write facts of clusters could have written it. `not-checked`: nobody named the roots.
 */
export const HeldProof = z.enum(['signed', 'unsigned', 'not-checked']);
export type HeldProof = z.infer<typeof HeldProof>;

/** What `fleetgc held -o json` prints. */
export const HeldList = z.object({
  type: z.literal('fleetgc.held'),
  version: z.literal(1),
  clusters: z.array(
    z.object({
      ...ClusterIdentity.shape,
      /** When its agent was heard last, by the log's clock. */
      heardAtMs: EpochMs,
      /** The facts take more steps than a decision may: nothing of it goes, and no hold of it is listed. */
      tooCostly: z.boolean(),
      proof: HeldProof,
      holds: z.array(
        z.object({
          /** Number of the rule (docs/reference/cluster-rules.md), e.g. `S1`. */
          rule: z.string(),
          /** What approves it; `null` for what ends by itself. */
          what: Approved.nullable(),
          /** Objects that are held now. More may go with them. */
          objects: z.int().positive(),
          why: z.string(),
          sinceMs: EpochMs,
          /** The command that approves it. */
          approve: z.string().nullable(),
        }),
      ),
    }),
  ),
  approvals: z.array(ListedApproval),
});
export type HeldList = z.infer<typeof HeldList>;
