import { z } from 'zod';
import { FilesystemName } from '../events/filesystem.ts';
import { ClusterName, NodeName } from '../events/identity.ts';
import { ObjectKind } from '../events/object-kinds.ts';
import { FleetNode } from './fleet-nodes.ts';
import { FleetStatus } from './fleet-status.ts';

/*
 * What the JSON API of `fleetgc dashboard` answers. Times are epoch milliseconds by the log's own clock; bytes are decimal digits.
 */

const Count = z.int().nonnegative();
const EpochMs = z.int().nonnegative();
const Bytes = z.string();

/** What the people who look may do. */
export const DashboardRole = z.enum(['viewer', 'operator']);
export type DashboardRole = z.infer<typeof DashboardRole>;

/** Who asks. */
export const DashboardSession = z.object({
  user: z.string(),
  role: DashboardRole,
  /** By what they are known: nobody has to sign in where the page is served to its own machine alone. */
  by: z.enum(['token', 'proxy', 'loopback']),
  version: z.string(),
  /** Whether they may act from the page; else why not, in a sentence. */
  actions: z.discriminatedUnion('allowed', [
    z.object({ allowed: z.literal(true) }),
    z.object({ allowed: z.literal(false), why: z.string() }),
  ]),
});
export type DashboardSession = z.infer<typeof DashboardSession>;

/** How far the log is read. */
export const DashboardProgress = z.object({
  nowMs: EpochMs,
  /** Whether all that is new was read; else what is shown is behind. */
  isCaughtUp: z.boolean(),
  nodes: Count,
  /** Records that nobody can read. */
  unreadable: Count,
  /**
   * Facts that no key of their node or cluster proves, since it was started, and whether they are shown all the same; `null`: nobody looks at
   * that.
   */
  notBelieved: z.object({ records: Count, areShown: z.boolean() }).nullable(),
  /** What the page has no room for, and does not show. */
  leftOut: z.object({
    /** Beyond the most that have a place; of very many at least so many. */
    nodes: Count,
    clusters: Count,
    /** Nodes of whose newest images nothing is told. */
    inventories: Count,
    /** Names that nobody finds. */
    names: Count,
  }),
  /** Why nothing new comes, in a sentence; `null` when it does. */
  problem: z.string().nullable(),
  topics: z.array(
    z.object({
      topic: z.string(),
      /** Since when all of it is read; `null`: it has just begun. */
      sinceMs: EpochMs.nullable(),
      /** Since when it is wanted. */
      wantedSinceMs: EpochMs,
    }),
  ),
});
export type DashboardProgress = z.infer<typeof DashboardProgress>;

/** What a person should know of a node at one look, the worst first. */
export const NodeState = z.enum(['silent', 'pressure', 'warned', 'paused', 'keeps-all', 'well']);
export type NodeState = z.infer<typeof NodeState>;

/** Every node in columns, in the order of their names: cluster and group by their position in the lists. */
export const DashboardFleet = z.object({
  readAtMs: EpochMs,
  clusters: z.array(ClusterName),
  groups: z.array(z.string()),
  /** Labels by which nodes can be put into groups. */
  labels: z.array(z.string()),
  columns: z.object({
    node: z.array(NodeName),
    cluster: z.array(Count),
    group: z.array(Count),
    /** Percent of the filesystem of images, as thresholds are compared; `null`: it could not be read. */
    used: z.array(z.int().min(0).max(100).nullable()),
    state: z.array(NodeState),
    /** Beside whatever else is true of a node. */
    isPaused: z.array(z.boolean()),
    /** Without one a node keeps everything. */
    hasPolicy: z.array(z.boolean()),
  }),
});
export type DashboardFleet = z.infer<typeof DashboardFleet>;

/** Nodes of which something is new. */
export const DashboardNews = z.object({
  readAtMs: EpochMs,
  nodes: z.array(
    z.object({
      cluster: ClusterName,
      node: NodeName,
      used: z.int().min(0).max(100).nullable(),
      state: NodeState,
      isPaused: z.boolean(),
      hasPolicy: z.boolean(),
    }),
  ),
});
export type DashboardNews = z.infer<typeof DashboardNews>;

/** Nodes as `fleetgc nodes -o json` tells them, a page at a time; `after` is the key to go on with, `null` at the end. */
export const DashboardNodes = z.object({
  readAtMs: EpochMs,
  nodes: z.array(FleetNode),
  after: z.string().nullable(),
});
export type DashboardNodes = z.infer<typeof DashboardNodes>;

/** What `fleetgc status -o json` says; `null` before it was asked, and of an archive. */
export const DashboardStatus = z.object({ status: FleetStatus.nullable() });
export type DashboardStatus = z.infer<typeof DashboardStatus>;

const Freed = z.object({ objects: Count, freedBytes: Bytes, unmeasured: Count, estimatedBytes: Bytes });

/** What was freed in a time, as `fleetgc audit report` counts it. */
export const DashboardFreed = z.object({
  fromMs: EpochMs,
  toMs: EpochMs.nullable(),
  /** Since when all results are read; what was freed before is missing. `null`: nothing is known yet. */
  knownSinceMs: EpochMs.nullable(),
  ...Freed.shape,
  byRule: z.array(z.object({ kind: ObjectKind, rule: z.string(), because: z.string(), ...Freed.shape })),
});
export type DashboardFreed = z.infer<typeof DashboardFreed>;

export const ActivityKind = z.enum([
  'ordered',
  'commanded',
  'dry-run',
  'removed',
  'refused',
  'failed',
  'command-refused',
  'pass-failed',
  'unrelieved',
]);
export type ActivityKind = z.infer<typeof ActivityKind>;

/** A line of what was decided and done. Names, ids and texts are whatever somebody wrote. */
export const Activity = z.object({
  id: z.string(),
  atMs: EpochMs,
  /** `<cluster>/<node>`. */
  node: z.string(),
  what: ActivityKind,
  text: z.string(),
  rule: z.string().nullable(),
  because: z.string().nullable(),
  kind: ObjectKind.nullable(),
  object: z.string().nullable(),
  /** Of the object, where a node told it. */
  name: z.string().nullable(),
});
export type Activity = z.infer<typeof Activity>;

/** The newest first; `before` is what to ask on with, `null` at the end. */
export const DashboardActivity = z.object({ activity: z.array(Activity), before: z.string().nullable() });
export type DashboardActivity = z.infer<typeof DashboardActivity>;

/** When ten minutes began, and the least and the most thousandths of the disk that were used in them; the last point is now. */
const DiskPoint = z.tuple([EpochMs, z.int().min(0).max(1000), z.int().min(0).max(1000)]);

export const DashboardNode = z.object({
  node: FleetNode,
  disks: z.array(
    z.object({
      filesystem: FilesystemName,
      /** Other names of the same disk. */
      alsoCalled: z.array(FilesystemName),
      points: z.array(DiskPoint),
    }),
  ),
  /** Times at which something was removed, and what was freed then; `freedBytes` is `null` where nobody could measure it. */
  removals: z.array(z.object({ atMs: EpochMs, objects: Count, freedBytes: Bytes.nullable() })),
  /** Every setting of the policy in force, and where its value comes from; empty where none is. */
  settings: z.array(z.object({ setting: z.string(), value: z.string(), origin: z.string() })),
  /** Whether it has told what is on it. */
  hasInventory: z.boolean(),
});
export type DashboardNode = z.infer<typeof DashboardNode>;

/** Something that a search found, and the address of the page that tells more. */
export const Found = z.object({
  kind: z.enum([
    'node',
    'policy',
    'cluster-policy',
    'image',
    'pod',
    'container',
    'sandbox',
    'cluster',
    'cluster-object',
    'event',
  ]),
  name: z.string(),
  id: z.string(),
  /** The node that told of it last; `null` for what is on no node. */
  node: z.string().nullable(),
  /** A Kubernetes cluster, and that of an object; `null` for all else. */
  cluster: z.string().nullable(),
});
export type Found = z.infer<typeof Found>;

export const DashboardSearch = z.object({ query: z.string(), found: z.array(Found), isAll: z.boolean() });
export type DashboardSearch = z.infer<typeof DashboardSearch>;
