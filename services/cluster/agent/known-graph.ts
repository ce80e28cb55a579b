import type { Share } from '../../../packages/deciders/expiry-gc/rules/own-rules.ts';
import type { GraphObject } from '../../../packages/owner-graph/graph-object.ts';
import type { OwnershipCandidate } from '../../../schemas/events/ownership.ts';
import type { PodTotals } from './pods/pod-watch.ts';

/** For who judges beside the agent, in the same process. */
export interface KnownGraph {
  /** `undefined` where it is not known, and where two kinds told of it: who serves the second one could have said what is not so. */
  object(uid: string): GraphObject | undefined;
  /** As it would be published now; `null` for an object that is no candidate. */
  candidate(uid: string): OwnershipCandidate | null;
  /** Whether an owner was seen to be deleted whose kind was withdrawn since; false for all that is not sure (cluster S17). */
  isGoneWithItsKind(uid: string): boolean;
  /** The cluster was restored to an older state a short time ago (cluster S3). */
  readonly wentBack: boolean;
  readonly pods: KnownPods;
  readonly expiry: KnownExpiry;
}

export interface KnownPods {
  /** `null` while nothing may be concluded from pods and nodes. */
  totals(): PodTotals | null;
  /** For how long pods have named a node of that name while there is none; 0 for one that is there. */
  missingForMs(nodeName: string): number;
}

export interface KnownExpiry {
  /** How much of a kind would go by annotations or rules, at this time by the API server's clock; `null` while it is not counted (cluster S11). */
  shareOf(kind: string, serverMs: number): Share | null;
}

/** How much there is to follow. */
export interface AgentFigures {
  readonly objects: number;
  readonly kinds: number;
  /** Without those that the printed role leaves out. */
  readonly unsyncedKinds: number;
  readonly candidates: number;
  /** `null` while nothing may be concluded from pods and nodes. */
  readonly pods: PodTotals | null;
  /** For how long the oldest fact waits that the event log has not taken; 0 where none does. */
  readonly unpublishedForMs: number;
}
