import { z } from 'zod';
import { ClusterName } from '../events/identity.ts';
import { ClusterPolicy } from '../policy/cluster-policy.ts';

const Count = z.int().nonnegative();
const EpochMs = z.int().nonnegative();

/** What a person should look at, of one cluster. */
export const ClusterWarning = z.object({
  kind: z.enum(['silent', 'held', 'too-costly', 'unanswered', 'unread-kinds', 'stuck-finalizers']),
  /** For people; may be reworded. */
  message: z.string(),
});
export type ClusterWarning = z.infer<typeof ClusterWarning>;

/** One cluster, by what its agent told last. Times are epoch milliseconds by the log's own clock. */
export const ClusterStatus = z.object({
  cluster: ClusterName,
  /** Uid of its namespace `kube-system`. */
  clusterInstance: z.string(),
  /** When its agent was heard last; of a silent one it may have been a little later. */
  heardMs: EpochMs,
  /** Not heard for more than 20 minutes. */
  isSilent: z.boolean(),
  /** Objects that its agent knows; `null`: it has not told yet. */
  objects: Count.nullable(),
  /** What holds for it now; `null`: no policy selects it, so it keeps everything, or nobody knows. */
  policy: z
    .object({ name: z.string(), policyVersion: z.int().positive(), mode: ClusterPolicy.shape.mode })
    .nullable(),
  /** The reason that was given for a pause that holds for it; `null`: none does. */
  pausedBecause: z.string().nullable(),
  /** Objects that are held now. */
  held: Count,
  /** Since when the first of them is held, as far as the last half hour tells; `null`: none is. */
  heldSinceMs: EpochMs.nullable(),
  /** Approvals that are in force. */
  approvals: Count,
  /** Commands of the last half hour whose time is over, and that the executor did not answer. */
  unanswered: Count,
  /** When the first of these was given; `null`: there is none. */
  unansweredSinceMs: EpochMs.nullable(),
  warnings: z.array(ClusterWarning),
});
export type ClusterStatus = z.infer<typeof ClusterStatus>;
