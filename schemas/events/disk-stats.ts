import { z } from 'zod';
import { EventId } from './event-id.ts';
import { FilesystemReadings, Uint64 } from './filesystem.ts';
import { NodeIdentity } from './identity.ts';
import { Instant } from './time.ts';

/** One span of the recent past: start (ms since boot), minimum, maximum, last value. Times of another boot are negative. */
export const Bucket = z.tuple([z.int(), Uint64, Uint64, Uint64]);
export type Bucket = z.infer<typeof Bucket>;

/** Of one list; an agent writes fewer than 200. Each threshold of a policy is held against each of them. */
export const MAX_BUCKETS = 1_000;

/** Oldest first: minutes for the last two hours, then tens of seconds for the last ten minutes. */
export const ResourceHistory = z.object({
  availableBytes: z.array(Bucket).max(MAX_BUCKETS),
  inodesFree: z.array(Bucket).max(MAX_BUCKETS),
});

/** Fact: how full a node's filesystems are now and were recently. Small and frequent. */
export const DiskStats = z.object({
  type: z.literal('fleetgc.node.disk-stats'),
  version: z.literal(1),
  id: EventId,
  ...NodeIdentity.shape,
  takenAt: Instant,
  /** Which release of FleetGC the agent is of. */
  fleetgcVersion: z.exactOptional(z.string()),
  /** Labels of the node, by which policies select. */
  nodeLabels: z.record(z.string(), z.string()),
  filesystems: FilesystemReadings,
  /** Grace periods and minimum reclaim are folded over this, so that no service needs a memory. */
  history: z.object({
    nodefs: ResourceHistory,
    imagefs: ResourceHistory,
    containerfs: ResourceHistory,
  }),
});
export type DiskStats = z.infer<typeof DiskStats>;

/** By this much of them disk statistics can be passed over for newer ones. */
export const DiskStatsHead = DiskStats.pick({
  type: true,
  version: true,
  id: true,
  cluster: true,
  node: true,
  nodeInstance: true,
  takenAt: true,
});
export type DiskStatsHead = z.infer<typeof DiskStatsHead>;
