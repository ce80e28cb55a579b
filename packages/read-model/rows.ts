import type { Census } from '../../schemas/events/census.ts';
import type { ClusterObjectResults } from '../../schemas/events/cluster-result.ts';
import type { DeadLetterCause } from '../../schemas/events/dead-letter.ts';
import type { DiskStats } from '../../schemas/events/disk-stats.ts';
import type { FilesystemName } from '../../schemas/events/filesystem.ts';
import type { ObjectKind } from '../../schemas/events/object-kinds.ts';
import type { ReferenceState, SettledCandidate } from '../../schemas/events/ownership.ts';
import type { ActivityKind } from '../../schemas/reports/dashboard.ts';
import type { DashboardClusters } from '../../schemas/reports/dashboard-clusters.ts';

/** @limit Resolution of disk curves. After a change raise `PROJECTION_VERSION`. */
export const SPAN_MS = 600_000;
/** So exactly a name tells when it was seen last. */
export const SEEN_MS = 3_600_000;

/** Where a record lies, and since when by the log's clock. */
interface Logged {
  readonly atMs: number;
  readonly offset: bigint;
}

/** The newest disk statistics of a node. */
interface NodeRow extends Logged {
  readonly table: 'nodes';
  readonly node: string;
  readonly stats: DiskStats;
}

/** The least and the most that was used of a filesystem in one span, in thousandths of its capacity. */
export interface DiskRow {
  readonly table: 'disks';
  readonly node: string;
  readonly filesystem: FilesystemName;
  /** Epoch milliseconds over `SPAN_MS`, rounded down. */
  readonly span: number;
  readonly least: number;
  readonly most: number;
}

/** An object that went, as its result says. */
interface RemovalRow {
  readonly table: 'removals';
  /** Of the result. */
  readonly id: string;
  readonly atMs: number;
  readonly node: string;
  readonly kind: ObjectKind;
  readonly object: string;
  readonly rule: string;
  /** `null` where nobody could measure it. */
  readonly freedBytes: bigint | null;
  /** What the plan counted it with; `null` where nobody did. */
  readonly estimatedBytes: bigint | null;
  /** When it went, by the clock of the node. */
  readonly nodeMs: number;
}

/** A line of what was decided and done. */
export interface ActivityRow {
  readonly table: 'activity';
  /** Of the event. */
  readonly id: string;
  readonly atMs: number;
  readonly node: string;
  readonly what: ActivityKind;
  /** In words, as far as the event says it itself. */
  readonly text: string;
  readonly rule: string | null;
  readonly kind: ObjectKind | null;
  readonly object: string | null;
}

/** A name that a node listed, and the node that listed it last. */
export interface NameRow {
  readonly table: 'names';
  readonly kind: 'image' | 'pod';
  readonly id: string;
  readonly name: string;
  /** Epoch milliseconds over `SEEN_MS`, rounded down. */
  readonly seen: number;
  readonly node: string;
}

/** A container by its id, and by its own name behind that of its pod. */
export type ContainerName = readonly [id: string, name: string];

/** The newest complete inventory of a node: where it lies, and by what its containers are found. */
interface InventoryRow extends Logged {
  readonly table: 'inventories';
  readonly node: string;
  readonly partition: number;
  readonly containers: () => readonly ContainerName[];
}

/** What images take. */
export interface HeldSums {
  /** Of all of them, layers that they have in common once. */
  readonly bytes: number;
  /** What no image has of it that somebody uses now. */
  readonly unusedBytes: number;
  /** What no image has of it that anybody was ever seen to use. */
  readonly neverUsedBytes: number;
}

/** The same of a part of the images of a node; what is unused is told of what it has alone. */
export interface HeldGroup extends HeldSums {
  readonly name: string;
  readonly images: number;
  /** What no image of another group has. */
  readonly aloneBytes: number;
}

export interface HeldImage {
  readonly id: string;
  readonly name: string;
  readonly repository: string;
  readonly sizeBytes: number;
  readonly users: number;
  /** By the clock of the node; `null`: nobody was ever seen to use it. */
  readonly lastUsedMs: number | null;
  readonly pinned: boolean;
}

/** The images of a node. */
export interface HeldImages {
  readonly images: readonly HeldImage[];
  readonly sums: HeldSums;
  readonly repositories: readonly HeldGroup[];
  readonly namespaces: readonly HeldGroup[];
  /** Whether the node tells of layers; else each image counts with its listed size. */
  readonly hasLayers: boolean;
}

/** What the newest complete inventory of a node says of its images. */
export interface HeldRow extends Logged {
  readonly table: 'held';
  readonly node: string;
  /** By the clock of the node. */
  readonly takenMs: number;
  /** Worked out once it is asked for: of most inventories a newer one is known already. */
  readonly held: () => HeldImages;
}

/** A dead letter without what it holds, which is looked up where the letter lies. */
export interface LetterRow extends Logged {
  readonly table: 'letters';
  readonly id: string;
  readonly partition: number;
  readonly cause: DeadLetterCause;
  readonly message: string;
  readonly group: string;
  readonly topic: string;
  /** Of the message; `null` where it had none. */
  readonly key: string | null;
  readonly valueBytes: number;
  readonly suppressedBefore: number;
}

/** A note that the message of a dead letter was put back. */
export interface RedriveRow extends Logged {
  readonly table: 'redrives';
  readonly partition: number;
  readonly letter: string;
  readonly by: string | null;
  readonly reason: string;
}

export type Row =
  | HeldRow
  | NodeRow
  | DiskRow
  | RemovalRow
  | ActivityRow
  | NameRow
  | InventoryRow
  | LetterRow
  | RedriveRow
  | ClusterRow;
export type TableName = Row['table'];
export type RowOf<Table extends TableName> = Extract<Row, { readonly table: Table }>;

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
interface CensusRow extends ToldOfCluster {
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
interface ClusterObjectRow extends OfObject {
  readonly table: 'cluster_objects';
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly isBeingDeleted: boolean;
  readonly finalizers: readonly string[];
}

/** It is told no more. */
interface ClusterSettledRow extends OfObject {
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
interface ClusterDeedRow extends OfObject {
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

/** Whoever may write there can write any length; the whole text lies on the event log. */
const MOST_TEXT_LENGTH = 1_000;

/** As much of a text as a table holds of one. */
export const boundedText = (text: string): string =>
  text.length <= MOST_TEXT_LENGTH
    ? text.toWellFormed()
    : text.toWellFormed().slice(0, MOST_TEXT_LENGTH).toWellFormed();

export const isBoundedText = (text: string): boolean => text.length <= MOST_TEXT_LENGTH;
