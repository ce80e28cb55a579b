import { z } from 'zod';
import { ClusterName, NodeName } from '../events/identity.ts';
import { Policy } from '../policy/policy.ts';

const Count = z.int().nonnegative();
const EpochMs = z.int().nonnegative();

/** What a person should look at, of one node. */
export const FleetNodeWarning = z.object({
  kind: z.enum([
    'clock',
    'two-machines',
    'stray-cluster',
    'silent',
    'position-refused',
    'fact-not-kept',
    'not-looked-up',
    'no-reading',
    'above-threshold',
    'above-threshold-dry-run',
    'held',
    'too-costly',
  ]),
  /** For people; may be reworded. */
  message: z.string(),
});
export type FleetNodeWarning = z.infer<typeof FleetNodeWarning>;

/** How full one filesystem is, rounded up as thresholds are compared; bytes are decimal digits. */
const FilesystemUse = z.object({
  usedPercent: z.int().min(0).max(100),
  capacityBytes: z.string(),
  availableBytes: z.string(),
});

/** One node, by its newest disk statistics. Times are epoch milliseconds by the log's own clock. */
export const FleetNode = z.object({
  cluster: ClusterName,
  node: NodeName,
  /** Random per installation. */
  nodeInstance: z.string(),
  bootId: z.string(),
  heardMs: EpochMs,
  /** Not heard for more than five minutes. */
  isSilent: z.boolean(),
  /** `null`: it could not be read. */
  filesystems: z.object({
    nodefs: FilesystemUse.nullable(),
    imagefs: FilesystemUse.nullable(),
    containerfs: FilesystemUse.nullable(),
  }),
  nodeLabels: z.record(z.string(), z.string()),
  /** What holds for it now; `null`: no policy selects it, so it keeps everything. */
  policy: z
    .object({ name: z.string(), policyVersion: z.int().positive(), mode: Policy.shape.mode })
    .nullable(),
  /** The reason that was given for a pause that holds for it; `null`: none does. */
  pausedBecause: z.string().nullable(),
  versions: z.object({
    /** Release of its agent; `null`: it does not say. */
    fleetgc: z.string().nullable(),
  }),
  warnings: z.array(FleetNodeWarning),
});
export type FleetNode = z.infer<typeof FleetNode>;

/** A node of which the log tells that it was there, and no more. */
const UnlocatedNode = z.object({
  cluster: ClusterName,
  node: NodeName,
  /** `null`: nobody can tell. */
  heardMs: EpochMs.nullable(),
  kind: z.enum(['position-refused', 'fact-not-kept', 'not-looked-up']),
  /** For people; may be reworded. */
  message: z.string(),
});
export type UnlocatedNode = z.infer<typeof UnlocatedNode>;

/** What `fleetgc nodes -o json` prints. */
export const FleetNodes = z.object({
  type: z.literal('fleetgc.nodes'),
  version: z.literal(1),
  /** When the log was read, by its own clock as far as it is known. */
  readAtMs: EpochMs,
  /** Records that nobody can read; nothing of them is in this. */
  unreadable: Count,
  nodes: z.array(FleetNode),
  /** Nodes that were heard in the last day, and of which nothing else is known; not there where there are none. */
  unlocated: z.exactOptional(z.array(UnlocatedNode)),
});
export type FleetNodes = z.infer<typeof FleetNodes>;
