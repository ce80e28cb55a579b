import type { ClusterInstant } from '../../../schemas/events/cluster-objects.ts';
import type { Ownership } from '../../../schemas/events/ownership.ts';
import type { Batch } from './candidates/candidate-tracker.ts';
import type { ClusterGraph } from './cluster-graph.ts';

const MAX_REASON_LENGTH = 500;

type Head = Pick<Ownership, 'id' | 'cluster' | 'clusterInstance' | 'session' | 'seq' | 'wentBack'>;

/** What a batch of candidates is published as. */
export function ownershipFact(
  head: Head,
  { kinds, index }: Pick<ClusterGraph, 'kinds' | 'index'>,
  { candidates, settled, takenAt }: Batch & { readonly takenAt: ClusterInstant },
): Ownership {
  return {
    type: 'fleetgc.cluster.ownership',
    version: 1,
    ...head,
    takenAt,
    unsyncedKinds: kinds.unsynced.map(({ kind: { group, kind }, reason }) => ({
      group,
      kind,
      reason: reason.slice(0, MAX_REASON_LENGTH).toWellFormed(),
    })),
    failedGroups: [...kinds.failedGroups],
    totals: { kinds: kinds.watched.length, objects: index.size },
    settled: [...settled],
    candidates: [...candidates],
  };
}
