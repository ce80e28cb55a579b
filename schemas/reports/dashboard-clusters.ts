import { z } from 'zod';
import { Census } from '../events/census.ts';
import { ClusterObjectOutcome } from '../events/cluster-result.ts';
import { ClusterName, ObjectUid } from '../events/identity.ts';
import { ReferenceState } from '../events/ownership.ts';
import { ApprovedKind } from '../policy/approval.ts';
import { ClusterPolicy } from '../policy/cluster-policy.ts';
import { ClusterExplanation } from './cluster-explanation.ts';
import { ClusterStatus } from './cluster-status.ts';
import { ClustersReport } from './clusters-report.ts';
import { HeldList } from './policy-list.ts';

/*
 * What the JSON API of `fleetgc dashboard` answers about clusters. Times are epoch milliseconds by the log's own clock.
 */

const Count = z.int().nonnegative();
const EpochMs = z.int().nonnegative();

/** Who told of a cluster last, and since when; a session ends with the process of the agent, or with a restore of the cluster. */
const ToldBy = z.object({
  session: z.uuid(),
  /** As far as it is known. */
  sinceMs: EpochMs,
});

const heard = {
  cluster: ClusterName,
  /** When its agent was heard last. */
  heardMs: EpochMs,
  isSilent: z.boolean(),
  /** As `fleetgc status -o json` has it; `null` where that tells nothing of it: it was not heard in the last day, or this is an archive. */
  status: ClusterStatus.nullable(),
  /** `null`: no census is known. */
  toldBy: ToldBy.nullable(),
  /** Objects with owners of which its agent said in its last quarter of an hour that something may have to be done. */
  candidates: Count,
};

/** Every cluster, a page at a time; `after` is the name to go on with, `null` at the end. */
export const DashboardClusters = z.object({
  readAtMs: EpochMs,
  /** Since when all results are read; what was removed before is missing. `null`: nothing is known yet. */
  knownSinceMs: EpochMs.nullable(),
  clusters: z.array(
    z.object({
      ...heard,
      /** How many there are of what `fleetgc cluster report` tells; `null`: no census is known. */
      found: z
        .object({
          kinds: Count,
          objects: Count,
          stuckFinalizers: Count,
          waitingOwners: Count,
          badReferences: Count,
          missingOwners: Count,
          unreadKinds: Count,
        })
        .nullable(),
      /** Objects that went since each of the times that were asked for. */
      removed: z.array(Count),
    }),
  ),
  after: ClusterName.nullable(),
});
export type DashboardClusters = z.infer<typeof DashboardClusters>;

/** When, and how many; `null`: so few of them that nobody told, or nobody tells. */
const CountPoint = z.tuple([EpochMs, Count.nullable()]);

export const DashboardCluster = z.object({
  ...heard,
  readAtMs: EpochMs,
  /** As `fleetgc cluster report -o json` has it; `null`: none is known. */
  census: Census.nullable(),
  curves: z.object({
    objects: z.array(CountPoint),
    /** Those kinds of which there are most now. */
    kinds: z.array(z.object({ kind: z.string(), points: z.array(CountPoint) })),
  }),
  /** Every kind that the last census counts, the most objects first. */
  kinds: z.array(z.object({ kind: z.string(), objects: Count })),
});
export type DashboardCluster = z.infer<typeof DashboardCluster>;

const { removed, changed, refused, failed } = ClustersReport.shape;

/** What came of objects of one cluster in a time, as `fleetgc audit report` counts it. */
export const DashboardClusterOutcomes = z.object({
  fromMs: EpochMs,
  toMs: EpochMs.nullable(),
  knownSinceMs: EpochMs.nullable(),
  removed: z.array(z.object({ ...removed.element.shape, because: z.string() })),
  changed: z.array(z.object({ ...changed.element.shape, because: z.string() })),
  goneAlready: Count,
  rehearsed: Count,
  refused,
  failed,
});
export type DashboardClusterOutcomes = z.infer<typeof DashboardClusterOutcomes>;

/** What is approved, in words and as an action names it. */
const ApprovedWords = z.object({
  text: z.string(),
  name: z.string(),
  as: ApprovedKind,
  objects: Count,
  /** Stands for what is shown, as `fleetgc approve --shown` takes it. */
  shown: z.string(),
});

/** What `fleetgc held --cluster NAME -o json` prints, and the policy whose limits hold there; `null`: none selects it. */
export const DashboardHeld = z.object({
  readAtMs: EpochMs,
  held: HeldList,
  /** Of each hold, in their order; `null` for what no approval ends. `neededHours`: until the policy has let all of it go. */
  holdWords: z.array(ApprovedWords.extend({ neededHours: z.int().positive() }).nullable()),
  /** Of each approval, in their order. */
  approvalWords: z.array(ApprovedWords),
  policy: ClusterPolicy.pick({ name: true, mode: true, profile: true, limits: true }).nullable(),
});
export type DashboardHeld = z.infer<typeof DashboardHeld>;

/** How an object of the graph stands, as far as the log tells. */
export const GraphState = z.enum([
  /** The agent told of it: something may have to be done about it. */
  'candidate',
  /** Its deletion was asked for, and finalizers or dependents hold it. */
  'being-deleted',
  /** Nothing has to be done about it any more. */
  'settled',
  /** FleetGC deleted it. */
  'removed',
  /** It went, by whomever. */
  'gone',
  /** Others name it as their owner, and it is there. */
  'there',
  /** Others name it as their owner, and nobody knows what it is. */
  'unknown',
]);
export type GraphState = z.infer<typeof GraphState>;

export const GraphObject = z.object({
  uid: ObjectUid,
  /** `apps/ReplicaSet`. */
  kind: z.string(),
  /** Empty for what lies in none; `null` for an owner of which only its dependents tell. */
  namespace: z.string().nullable(),
  name: z.string(),
  state: GraphState,
  /** When it was told last. */
  toldMs: EpochMs,
  finalizers: z.array(z.string()),
  /** What was tried last, and what came of it; `null`: nothing. */
  last: z
    .object({
      atMs: EpochMs,
      action: z.string(),
      rule: z.string(),
      because: z.string(),
      outcome: z.enum(ClusterObjectOutcome.options.map((option) => option.shape.outcome.value)),
      message: z.string(),
    })
    .nullable(),
  /** Its owners and dependents that are in no place of this graph, since it has as many objects as it may. */
  more: Count,
});
export type GraphObject = z.infer<typeof GraphObject>;

export const GraphEdge = z.object({
  owner: ObjectUid,
  dependent: ObjectUid,
  state: ReferenceState,
  /** The dependent named it once, and does not any more. */
  isDropped: z.boolean(),
});
export type GraphEdge = z.infer<typeof GraphEdge>;

/** What the log tells of an object, its owners and its dependents. */
export const DashboardOwnerGraph = z.object({
  cluster: ClusterName,
  uid: ObjectUid,
  /** The object itself first. */
  objects: z.array(GraphObject),
  edges: z.array(GraphEdge),
  /** Since when all facts about owners are read; `null`: nothing is known yet. */
  knownSinceMs: EpochMs.nullable(),
});
export type DashboardOwnerGraph = z.infer<typeof DashboardOwnerGraph>;

/** Objects that the log told of, those that were told last first. */
export const DashboardClusterObjects = z.object({
  objects: z.array(
    GraphObject.pick({ uid: true, kind: true, name: true, state: true, toldMs: true }).extend({
      namespace: z.string(),
    }),
  ),
  isAll: z.boolean(),
});
export type DashboardClusterObjects = z.infer<typeof DashboardClusterObjects>;

/** What `fleetgc audit explain object/UID -o json` prints, of each life the last entries. */
export const DashboardObjectLife = z.object({
  explanation: ClusterExplanation,
  /** Earlier entries that are left out. */
  leftOut: Count,
});
export type DashboardObjectLife = z.infer<typeof DashboardObjectLife>;
