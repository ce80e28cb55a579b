import type { Doubt } from '../../../packages/decision/conclusion.ts';
import type { DiskStats } from '../../../schemas/events/disk-stats.ts';
import type { Reclaim } from '../../../schemas/events/reclaim.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';

/** A reclaim to begin, yet without an id. */
export type Beginning = Omit<Reclaim, 'id' | 'round'>;

/** A threshold that calls for a reclaim. */
export interface Met extends Beginning {
  readonly kind: 'met';
  /** By an eviction signal: the kubelet is about to evict pods. */
  readonly isForced: boolean;
  readonly reason: string;
}

/** What a threshold finds in one reading of a node's disks. */
export type Finding =
  | Met
  | { readonly kind: 'not-met'; readonly reason: string }
  | { readonly kind: 'doubt'; readonly doubt: Doubt };

export const notMet = (reason: string): Finding => ({ kind: 'not-met', reason });

/** Thresholds of one kind that can begin a reclaim. */
export type Thresholds = (stats: DiskStats, policy: Policy) => readonly Finding[];
