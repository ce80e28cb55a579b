import type { Logger } from 'pino';
import type { ApiConnection } from '../../packages/kube-api/connection.ts';
import type { GraphObject } from '../../packages/owner-graph/graph-object.ts';
import type { Sleep } from '../../packages/process/backoff.ts';
import type { ClusterIdentity } from '../../schemas/events/identity.ts';
import type { Ownership, OwnershipCandidate } from '../../schemas/events/ownership.ts';
import type { GoneOwners } from './read-gone-owners.ts';

export interface AgentParts {
  readonly connection: ApiConnection;
  /** Resolves when the fact is acknowledged. */
  readonly publish: (fact: Ownership) => Promise<void>;
  /** How owners went while an earlier agent followed this cluster. */
  readonly goneBefore: (clusterInstance: string, signal: AbortSignal) => Promise<GoneOwners>;
  /** By `whatHolds`; `null` while nobody can tell. */
  readonly holds: (identity: ClusterIdentity, atMs: number) => string | null;
  readonly sleep: Sleep;
  readonly random: () => number;
  readonly newId: () => string;
  /** Milliseconds that only grow. */
  readonly nowMs: () => number;
  readonly logger: Logger;
}

export interface SessionStart extends ClusterIdentity {
  readonly session: string;
  /** Until when the cluster counts as restored, by `nowMs`; `null` for one that was not. */
  readonly wentBackUntilMs: number | null;
  readonly goneBefore: GoneOwners;
}

/** How much there is to follow. */
export interface AgentFigures {
  readonly objects: number;
  readonly kinds: number;
  readonly unsyncedKinds: number;
  readonly candidates: number;
}

/** For who judges beside the agent, in the same process. */
export interface KnownGraph {
  object(uid: string): GraphObject | undefined;
  /** As it would be published now; `null` for an object that is no candidate. */
  candidate(uid: string): OwnershipCandidate | null;
  /** The cluster was restored to an older state a short time ago (cluster S3). */
  readonly wentBack: boolean;
}
