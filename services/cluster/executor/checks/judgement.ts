import type { ApiConnection } from '../../../../packages/kube-api/connection.ts';
import type { ObjectMetadata } from '../../../../packages/kube-api/metadata.ts';
import type { ClusterAction, RemovePodAction } from '../../../../schemas/events/cluster-command.ts';
import type { ServedKind } from '../../../../schemas/events/cluster-objects.ts';
import type { ApprovalRecord } from '../../../../schemas/policy/approval.ts';
import type { ClusterPolicyRecord } from '../../../../schemas/policy/cluster-policy.ts';
import type { Order } from '../order.ts';
import type { IndexSource } from '../ports.ts';
import type { LiveReads } from './live-reads.ts';
import type { OrphanedOwners } from './orphaned-owners.ts';
import type { RemovalCounts } from './removal-counts.ts';
import { failed, later, type Stop } from './stop.ts';

/** Under what an order may be carried out now. */
export interface Permission {
  readonly record: ClusterPolicyRecord;
  /** Those in force; none while nobody knows what time it is there (cluster S7). */
  readonly approvals: readonly ApprovalRecord[];
}

/** What an order is judged with. */
export interface Asked extends Permission {
  readonly order: Order;
  /** The kind of its object, as it is served. */
  readonly kind: ServedKind;
  readonly reads: LiveReads;
  readonly clock: ApiConnection['clock'];
  /** Nothing that was read before counts: an earlier try failed, or somebody changed the object. */
  readonly isFresh: boolean;
  /** `null` where the process has no graph of the cluster. */
  readonly index: IndexSource | null;
  readonly removals: RemovalCounts;
  readonly orphaned: OrphanedOwners;
  /** Milliseconds that only grow. */
  readonly nowMs: () => number;
}

/** How a pod is marked before it goes. */
export interface PodMark {
  /** What its condition of that name says; `null` for a pod that gets none. */
  readonly disruption: { readonly reason: string; readonly message: string; readonly atMs: number } | null;
  /** Which generation of the pod that is said of; `null` where the API server counts none. */
  readonly observedGeneration: number | null;
}

export interface PodRemoval extends RemovePodAction {
  /** `null` for a pod that has ended by itself. */
  readonly mark: PodMark | null;
}

/** What is to be done, with what the judgement found. */
export type JudgedAction = Exclude<ClusterAction, RemovePodAction> | PodRemoval;

/** What follows from the live state: this, to this object. */
export interface Judgement extends Permission {
  readonly kind: ServedKind;
  readonly object: ObjectMetadata;
  readonly action: JudgedAction;
  /** What limits it counts for when it goes, by their keys (cluster S1). */
  readonly countsFor: readonly string[];
  /** How many like it may go in an hour, beside the limit for all; `null` for no such limit (cluster S10). */
  readonly within: { readonly key: string; readonly limit: number } | null;
}

/** How long a clock is waited for that cannot be believed. */
const CLOCK_WAIT_MS = 1_000;
export const clockUnbelieved = (): Stop =>
  later('unreachable', "the API server's clock cannot be believed now", CLOCK_WAIT_MS);

const FORBIDDEN = 403;
/** Of an answer from which nothing follows. */
export const unreadable = (status: number, message: string): Stop =>
  status === FORBIDDEN ? failed({ reason: 'forbidden', message }) : later('api-server-error', message);
