import type { Census } from '../../../schemas/events/census.ts';
import type { ClusterObjectResults } from '../../../schemas/events/cluster-result.ts';
import type { ReferenceState, SettledCandidate } from '../../../schemas/events/ownership.ts';
import type { DashboardClusters } from '../../../schemas/reports/dashboard-clusters.ts';

/** So long one point of a curve of counts stands for: the finer ones are kept for a day. */
export const FINE_STEP_MS = 600_000;
export const COARSE_STEP_MS = 3_600_000;
/** So many owners of an object are kept. */
export const MOST_OWNERS_KEPT = 20;

type ToldResult = ClusterObjectResults['objects'][number];

/** How many there are of each finding. */
export type FoundCounts = NonNullable<DashboardClusters['clusters'][number]['found']>;

/** What a cluster told at a place of the log: of two of one key the newest stays. */
interface ToldOfCluster {
  readonly cluster: string;
  readonly atMs: number;
  readonly offset: bigint;
}

/** The newest census, whole. */
export interface CensusRow extends ToldOfCluster {
  readonly table: 'censuses';
  readonly found: FoundCounts;
  readonly census: Census;
}

/** What the newest census of a step of time counted. */
export interface CensusPointRow extends ToldOfCluster {
  readonly table: 'census_points';
  readonly stepMs: number;
  /** Epoch milliseconds over `stepMs`, rounded down. */
  readonly slot: number;
  readonly session: string;
  readonly objects: number;
  /** By `kindName`, the most first; `null` where nobody told. */
  readonly kinds: readonly (readonly [string, number])[] | null;
}

/** Of how many objects of a kind one result tells the same. */
export interface ClusterOutcomeRow {
  readonly table: 'cluster_outcomes';
  /** Of the result. */
  readonly id: string;
  /** Tells rows of one result apart. */
  readonly position: number;
  readonly atMs: number;
  readonly cluster: string;
  readonly kind: string;
  readonly action: ToldResult['action'];
  readonly rule: string;
  readonly ownRule: string | null;
  readonly outcome: ToldResult['result']['outcome'];
  readonly reason: string | null;
  readonly objects: number;
}

interface OfObject extends ToldOfCluster {
  readonly uid: string;
}

/** An object for which something may have to be done, as it was told last. */
export interface ClusterObjectRow extends OfObject {
  readonly table: 'cluster_objects';
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly isBeingDeleted: boolean;
  readonly finalizers: readonly string[];
}

/** It is told no more. */
export interface ClusterSettledRow extends OfObject {
  readonly table: 'cluster_settled';
  readonly how: SettledCandidate['how'];
}

/** An owner that an object named when it was told last with it. */
export interface ClusterOwnerRow extends OfObject {
  readonly table: 'cluster_owners';
  readonly ownerUid: string;
  readonly ownerKind: string;
  readonly ownerName: string;
  readonly state: ReferenceState;
}

/** What was tried last of an object. */
export interface ClusterDeedRow extends OfObject {
  readonly table: 'cluster_deeds';
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly action: ToldResult['action'];
  readonly rule: string;
  readonly outcome: ToldResult['result']['outcome'];
  /** Why not, for people; empty where it was done. */
  readonly message: string;
}

export type ClusterRow =
  | CensusRow
  | CensusPointRow
  | ClusterOutcomeRow
  | ClusterObjectRow
  | ClusterSettledRow
  | ClusterOwnerRow
  | ClusterDeedRow;
