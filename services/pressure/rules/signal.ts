import type { DiskStats } from '../../../schemas/disk-stats.ts';
import type { Policy } from '../../../schemas/policy.ts';
import type { ReclaimCause, ReclaimTarget } from '../../../schemas/reclaim.ts';
import type { Doubt } from '../../shared/decision/conclusion.ts';

/** What a signal finds in one reading of a node's disks. */
export type Finding =
  | {
      readonly kind: 'met';
      readonly cause: ReclaimCause;
      readonly target: ReclaimTarget;
      readonly reason: string;
    }
  | { readonly kind: 'not-met'; readonly reason: string }
  | { readonly kind: 'doubt'; readonly doubt: Doubt };

/** Something that can begin a reclaim. */
export type Signal = (stats: DiskStats, policy: Policy) => Finding;
