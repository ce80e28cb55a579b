import type { ObjectMetadata } from '../../../../packages/kube-api/metadata.ts';
import type { ServedKind } from '../../../../schemas/events/cluster-objects.ts';
import type { ClusterPolicy } from '../../../../schemas/policy/cluster-policy.ts';
import type { ClusterIndex } from '../ports.ts';
import type { LiveReads } from './live-reads.ts';
import type { OrphanedOwners } from './orphaned-owners.ts';
import type { Stop } from './stop.ts';

/** What an attempt goes by: the object as it is, and what is known of it beside. */
export interface Look {
  readonly kind: ServedKind;
  readonly object: ObjectMetadata;
  readonly reads: LiveReads;
  /** `null` where the process has no graph of the cluster. */
  readonly index: ClusterIndex | null;
  readonly orphaned: Pick<OrphanedOwners, 'has'>;
  /** How much this executor deleted in the past hour for an owner, and for all owners of a kind, or has in hand beside this object. */
  readonly removed: {
    readonly forOwner: (uid: string) => number;
    readonly forKind: (kind: string) => number;
  };
  readonly profile: ClusterPolicy['profile'];
  /** When the object was created, in epoch milliseconds; `null` where it does not say. */
  readonly createdAtMs: () => Promise<number | null | Stop>;
}
