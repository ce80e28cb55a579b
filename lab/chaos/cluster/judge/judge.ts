import { archived } from '../../judge/archived.ts';
import { audited } from '../../judge/audited.ts';
import type { Violation } from '../../judge/evidence.ts';
import type { ClusterEvidence } from './evidence.ts';
import { keptByClusterPolicy } from './kept.ts';
import { never, owned } from './owned.ts';
import { clusterUnrelieved } from './relief.ts';
import { clusterUnsigned } from './signed.ts';
import { clusterLost, clusterTwice } from './told.ts';
import { worldOf } from './world.ts';

/** Everything that the evidence of a round about a cluster shows to be wrong, as things are now. */
export function judgeCluster(evidence: ClusterEvidence, nowMs: number): readonly Violation[] {
  const world = worldOf(evidence.truth);
  return [
    ...owned(evidence, world),
    ...never(world),
    ...keptByClusterPolicy(evidence, world),
    ...clusterTwice(evidence, world),
    ...clusterLost(evidence, world),
    ...clusterUnrelieved(evidence, world, nowMs),
    ...clusterUnsigned(evidence, world),
    ...audited(evidence),
    ...archived(evidence),
  ];
}
