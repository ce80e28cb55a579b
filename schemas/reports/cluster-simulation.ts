import { z } from 'zod';
import { ClusterName } from '../events/identity.ts';

const Count = z.int().nonnegative();
const EpochMs = z.int().nonnegative();

/** What becomes of an object by the decisions about it. */
export const Concluded = z.enum([
  /** It is deleted, or removed as a pod. Of what happened: a result says so, or none is there yet. */
  'deleted',
  /** References or a finalizer are taken away, and it stays. */
  'changed',
  'held',
  /** It was ordered, and the executor refused it or could not do it. */
  'not-done',
  /** It would be deleted or changed, and the policy says dry-run or rehearse. */
  'dry-run',
  /** It would be deleted or changed, and the policy does not give that to FleetGC. */
  'not-ours',
  'kept',
  /** Nothing was decided on its facts. */
  'undecided',
]);
export type Concluded = z.infer<typeof Concluded>;

/** Objects by what becomes of them; what is missing is none. */
export const ConcludedCounts = z.partialRecord(Concluded, Count);

const Side = z.object({
  is: Concluded,
  /** The last decision's, or that which deleted it; `null` where nothing was decided. */
  rule: z.string().nullable(),
});

/** An object of which the two sides say different things. */
export const ObjectDifference = z.object({
  cluster: ClusterName,
  group: z.string(),
  kind: z.string(),
  namespace: z.string(),
  name: z.string(),
  uid: z.string(),
  policy: Side,
  against: Side,
  /** When its facts began to be decided differently, by the log's clock. */
  sinceMs: EpochMs,
});
export type ObjectDifference = z.infer<typeof ObjectDifference>;

const Sides = { policy: ConcludedCounts, against: ConcludedCounts };

export const SimulatedCluster = z.object({
  cluster: ClusterName,
  /** Objects that its facts tell. */
  objects: Count,
  /** Policies that select it; `null` where none does, so that it keeps everything. `against` is also `null` where it is what happened. */
  policies: z.object({ policy: z.string().nullable(), against: z.string().nullable() }),
  ...Sides,
});
export type SimulatedCluster = z.infer<typeof SimulatedCluster>;

const PolicyNames = z.array(z.object({ name: z.string(), hash: z.string() }));

/** What `fleetgc audit simulate -o json` prints of policies for clusters. */
export const ClusterSimulation = z.object({
  type: z.literal('fleetgc.cluster-simulation'),
  version: z.literal(1),
  range: z.object({ fromMs: EpochMs.nullable(), toMs: EpochMs.nullable() }),
  /** `against` is `null` where it is what happened. */
  compared: z.object({ policy: PolicyNames, against: PolicyNames.nullable() }),
  read: z.object({ records: Count, unreadable: Count, facts: Count }),
  /** What a simulation cannot know; for people. */
  assumptions: z.array(z.string()),
  clusters: z.array(SimulatedCluster),
  total: z.object({ objects: Count, ...Sides }),
  differences: z.array(ObjectDifference),
});
export type ClusterSimulation = z.infer<typeof ClusterSimulation>;
