import { z } from 'zod';
import { ClusterName, NodeName } from '../events/identity.ts';

const Count = z.int().nonnegative();
const EpochMs = z.int().nonnegative();
const DurationMs = z.int().nonnegative();
const Node = { cluster: ClusterName, node: NodeName };

/** Objects that went, by kind. `logs` are entries of the two log directories. */
export const RemovedCounts = z.object({ images: Count, containers: Count, sandboxes: Count, logs: Count });
export type RemovedCounts = z.infer<typeof RemovedCounts>;

/** What became of some nodes. Bytes are decimal digits: sums of a fleet pass 2^53. */
export const SimulationSums = z.object({
  removed: RemovedCounts,
  /**
   * As measured where it happened, or as the plan estimated it where that was not measurable. Where it is simulated, as the plan estimates it of images, and of the rest as it was
   * measured where it happened too.
   */
  freedBytes: z.string().regex(/^(0|[1-9][0-9]*)$/),
  /** Of the removed those of which nobody knows what they free: they count as nothing. */
  unmeasured: Count,
  /** Of the removed those images that make room for inodes: a guess tells how many are enough. */
  guessed: Count,
  /** Images that were removed, and needed again within the regret window. */
  regrets: Count,
  /** How often reclaims could not reach their target: once until an inventory shows it reached, or has no reading. */
  unrelieved: Count,
  /** How long a usage threshold of image GC of the simulated policy was met, of bytes or inodes. */
  aboveMs: DurationMs,
  /** Highest use of imagefs; `null` where no reading was believable. */
  peakPercent: z.int().min(0).max(100).nullable(),
});
export type SimulationSums = z.infer<typeof SimulationSums>;

/** An image that went and was needed again soon. */
export const Regret = z.object({
  side: z.enum(['policy', 'against']),
  ...Node,
  imageId: z.string(),
  name: z.string(),
  sizeBytes: Count.nullable(),
  removedAtMs: EpochMs,
  neededAtMs: EpochMs,
});
export type Regret = z.infer<typeof Regret>;

const Observation = {
  /** From the first inventory of a node to the last. */
  observedMs: DurationMs,
  /** Of that, how long nobody knew how full imagefs was: the reading before was older than 15 minutes, or not believable. */
  unknownMs: DurationMs,
};

const Sides = { policy: SimulationSums, against: SimulationSums };

export const NodeSimulation = z.object({
  ...Node,
  /** Value of the node's label `fleetgc.io/pool`. */
  pool: z.string().nullable(),
  inventories: Count,
  /** Policies that hold for the node; `null` where none selects it, so that it keeps everything. */
  policies: z.object({ policy: z.string().nullable(), against: z.string().nullable() }),
  /** Since when the node is not any more as it was recorded; `null` where it always is. */
  estimatedFromMs: z.object({ policy: EpochMs.nullable(), against: EpochMs.nullable() }),
  /** The high threshold of the simulated policy, in percent; `null` where none holds. */
  thresholdPercent: z.int().nullable(),
  ...Observation,
  ...Sides,
});
export type NodeSimulation = z.infer<typeof NodeSimulation>;

const PolicyNames = z.array(z.object({ name: z.string(), hash: z.string() }));

/** What `fleetgc audit simulate -o json` prints. All times are epoch milliseconds by the log's own clock. */
export const AuditSimulation = z.object({
  type: z.literal('fleetgc.audit-simulation'),
  version: z.literal(1),
  range: z.object({ fromMs: EpochMs.nullable(), toMs: EpochMs.nullable() }),
  regretWindowMs: DurationMs,
  /** `against` is `null` where it is what happened. */
  compared: z.object({ policy: PolicyNames, against: PolicyNames.nullable() }),
  read: z.object({
    records: Count,
    unreadable: Count,
    inventories: Count,
    incomplete: Count,
    /**
     * Complete inventories without disk statistics shortly before them, where policies need those: thresholds with a grace
     * period, or a minimum reclaim, count as if the disk had no past. 0 where no policy has any.
     */
    withoutDiskStats: Count,
  }),
  /** What a simulation cannot know, and how it is estimated; for people. */
  assumptions: z.array(z.string()),
  nodes: z.array(NodeSimulation),
  pools: z.array(z.object({ pool: z.string().nullable(), nodes: Count, ...Observation, ...Sides })),
  total: z.object({ nodes: Count, ...Observation, ...Sides }),
  regrets: z.array(Regret),
});
export type AuditSimulation = z.infer<typeof AuditSimulation>;
