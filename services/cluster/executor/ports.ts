import type { Logger } from 'pino';
import type { Share } from '../../../packages/deciders/expiry-gc/rules/own-rules.ts';
import type { ApiConnection } from '../../../packages/kube-api/connection.ts';
import type { GraphObject } from '../../../packages/owner-graph/graph-object.ts';
import type { Sleep } from '../../../packages/process/backoff.ts';
import type { TraceContext } from '../../../packages/process/trace.ts';
import type { InForce } from '../../../packages/records/commands.ts';
import type { ClusterCommandIntent } from '../../../schemas/events/cluster-intent.ts';
import type { ClusterRemoved } from '../../../schemas/events/cluster-removed.ts';
import type { ClusterCommandResult, ClusterObjectResults } from '../../../schemas/events/cluster-result.ts';
import type { ClusterIdentity } from '../../../schemas/events/identity.ts';
import type { OwnershipCandidate } from '../../../schemas/events/ownership.ts';
import type { Pods } from '../../../schemas/events/pods.ts';

/** The owner graph of the cluster, where the agent that keeps it runs in the same process. */
export interface ClusterIndex {
  /** `undefined` where it is not known, and where two kinds told of it: who serves the second one could have said what is not so. */
  object(uid: string): GraphObject | undefined;
  /** What calls for something, as the graph knows it now; `null` where nothing does. */
  candidate(uid: string): OwnershipCandidate | null;
  /** Whether an owner was seen to be deleted whose kind was withdrawn since; false for all that is not sure (cluster S17). */
  isGoneWithItsKind(uid: string): boolean;
  /** The cluster was restored to an older state a short time ago (cluster S3). */
  readonly wentBack: boolean;
  readonly pods: PodIndex;
  readonly expiry: ExpiryIndex;
}

/** What an agent knows of objects whose time is over. */
export interface ExpiryIndex {
  /** How much of a kind would go by annotations or rules, at this time by the API server's clock; `null` while nobody has counted it (cluster S11). */
  shareOf(kind: string, serverMs: number): Share | null;
}

/** What an agent knows of pods. */
export interface PodIndex {
  /** `null` while nothing may be concluded from pods and nodes. */
  totals(): Pods['totals'] | null;
  /** For how long pods have named a node of that name while there is none; 0 for one that is there. */
  missingForMs(nodeName: string): number;
}

export interface IndexSource {
  /** `null` while it is not known well enough to conclude anything from it (cluster I10). */
  current(): ClusterIndex | null;
}

/** What an executor is given: its cluster, its event log, and who may stop it. */
export interface ExecutorPorts {
  readonly identity: ClusterIdentity;
  /** Names this process in its intents and results. */
  readonly executor: string;
  readonly connection: ApiConnection;
  /** `null` where the process has no graph of the cluster. */
  readonly index: IndexSource | null;
  /** Why the cluster's own people hold everything; `null` where they do not. */
  readonly localHold: () => string | null;
  readonly policy: () => ClusterPolicyInForce;
  /** Whether the key that signed an order still counts; why not, in a sentence. */
  readonly objectionTo: (keyId: string | null) => string | null;
  /** Resolves when all of them are acknowledged. */
  readonly publish: (events: readonly Outgoing[]) => Promise<void>;
  /** Resolves when the event log has it. */
  readonly save: (removed: ClusterRemoved, trace: TraceContext | null) => Promise<void>;
  readonly sleep: Sleep;
  /** From 0 up to 1, for backoff. */
  readonly random: () => number;
  /** Milliseconds that only grow. */
  readonly nowMs: () => number;
  readonly logger: Logger;
}

/** What an executor writes to the topic of results. */
export type ResultEvent = ClusterCommandIntent | ClusterObjectResults | ClusterCommandResult;

export interface Outgoing {
  readonly event: ResultEvent;
  /** Of the message that led to it; `null` begins one. */
  readonly trace: TraceContext | null;
}

/** What the policies that this process follows itself say of the cluster. */
export type ClusterPolicyInForce = InForce<'cluster'>;
