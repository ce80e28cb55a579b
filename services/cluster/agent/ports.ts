import type { Logger } from 'pino';
import type { ApiConnection } from '../../../packages/kube-api/connection.ts';
import type { WatchEnd } from '../../../packages/kube-api/watch.ts';
import type { ResourceKind } from '../../../packages/owner-graph/kinds.ts';
import type { Sleep } from '../../../packages/process/backoff.ts';
import type { Census } from '../../../schemas/events/census.ts';
import type { Expiry } from '../../../schemas/events/expiry.ts';
import type { ClusterIdentity } from '../../../schemas/events/identity.ts';
import type { Ownership } from '../../../schemas/events/ownership.ts';
import type { Pods } from '../../../schemas/events/pods.ts';
import type { ClusterPolicyRecord } from '../../../schemas/policy/cluster-policy.ts';
import type { EarlierFacts } from './earlier-facts.ts';

/** What an agent tells of its cluster. */
export type AgentFact = Ownership | Expiry | Pods | Census;

export interface AgentParts {
  readonly connection: ApiConnection;
  /** Resolves when the fact is acknowledged. */
  readonly publish: (fact: AgentFact) => Promise<void>;
  /** The policy in force, which an agent follows only to publish less; `null` where none is, or nobody can tell. */
  readonly policy: () => ClusterPolicyRecord | null;
  /** What agents told of this cluster before. */
  readonly earlierFacts: (clusterInstance: string, signal: AbortSignal) => Promise<EarlierFacts>;
  /** By `whatHolds`; `null` while nobody can tell. */
  readonly holds: (identity: ClusterIdentity, atMs: number) => string | null;
  readonly onWatchEnded: (kind: ResourceKind, end: WatchEnd) => void;
  readonly sleep: Sleep;
  readonly random: () => number;
  readonly newId: () => string;
  /** Milliseconds that only grow. */
  readonly nowMs: () => number;
  readonly logger: Logger;
}
