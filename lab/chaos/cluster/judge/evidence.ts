import type { KeyAct } from '../../fleet/keys.ts';
import type { ClockStep } from '../../fleet/machine-clock.ts';
import type { Act } from '../../fleet/operator.ts';
import type { ArchiveEvidence, AuditEvidence } from '../../judge/evidence.ts';
import type { Played } from '../../schedule/played.ts';
import type { ClusterFault } from '../faults/fault.ts';
import type { ClusterPolicyId } from '../policies.ts';
import type { TruthLine } from '../truth.ts';
import type { ClusterLogEvidence } from './log-evidence.ts';

export type ClusterPlayed = Played<ClusterFault>;
export type ClusterAct = Act<ClusterPolicyId>;

/** All that a round about a cluster is judged by. Nothing of it was computed by the product's own rules. */
export interface ClusterEvidence {
  readonly truth: readonly TruthLine[];
  readonly acts: readonly ClusterAct[];
  readonly keys: readonly KeyAct[];
  /** How far the clock of agent and executor was from the true one. */
  readonly clock: readonly ClockStep[];
  readonly played: readonly ClusterPlayed[];
  readonly log: ClusterLogEvidence;
  readonly archive: ArchiveEvidence | null;
  readonly audit: AuditEvidence | null;
}
