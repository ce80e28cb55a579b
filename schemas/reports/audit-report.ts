import { z } from 'zod';
import { Holder } from '../events/command.ts';
import { DecisionOutcome } from '../events/decision.ts';
import { ClusterName, NodeName } from '../events/identity.ts';
import { ObjectKind } from '../events/object-kinds.ts';
import { CommandRefusal, ObjectRefusal, RemovalFailure } from '../events/result.ts';
import { NodeSelector, PauseRecord, Policy } from '../policy/policy.ts';
import { ClustersReport } from './clusters-report.ts';

const Count = z.int().nonnegative();
const EpochMs = z.int().nonnegative();
const Node = { cluster: ClusterName, node: NodeName };

/** Bytes as decimal digits: sums of a fleet pass 2^53. */
const Bytes = z.string().regex(/^(0|[1-9][0-9]*)$/);

/** What removals freed. */
const Freed = {
  /** As measured: what the disks gained. */
  freedBytes: Bytes,
  /** Of the objects those whose effect nobody could measure: no reading, or something else filled the disk meanwhile. */
  unmeasured: Count,
  /** What the plan counted those with. It is not in `freedBytes`. */
  estimatedBytes: Bytes,
};

/** Objects that went by one rule. */
export const RemovedByRule = z.object({
  kind: ObjectKind,
  /** Number of the rule in the behaviour specification (docs/reference/rules.md), e.g. `D11`. */
  rule: z.string(),
  objects: Count,
  ...Freed,
});
export type RemovedByRule = z.infer<typeof RemovedByRule>;

/** An object that a policy in dry-run would have removed: once for each node, however often it was decided. */
export const WouldGo = z.object({
  ...Node,
  kind: ObjectKind,
  id: z.string(),
  /** Of an image a tag, else a digest, else the id. */
  name: z.string(),
  /** These three as of the last such decision. */
  rule: z.string(),
  policy: z.string(),
  /** What its removal was counted with; `null` of what has no size that is known before. */
  estimatedBytes: Count.nullable(),
  /** Decisions that would have removed it. */
  decisions: Count.min(1),
  firstMs: EpochMs,
  lastMs: EpochMs,
});
export type WouldGo = z.infer<typeof WouldGo>;

/** An image that was removed and that its node listed again later. */
export const PulledAgain = z.object({
  ...Node,
  imageId: z.string(),
  /** A tag, else a digest, else the id. */
  name: z.string(),
  rule: z.string(),
  /** As listed before it went; `null` where no inventory in the time of the report lists it before. */
  sizeBytes: Count.nullable(),
  removedAtMs: EpochMs,
  /** When an inventory listed it again: the pull was before. */
  seenAgainAtMs: EpochMs,
});
export type PulledAgain = z.infer<typeof PulledAgain>;

/** A node on which reclaims ended above their target, and what held its space the last time. */
export const UnrelievedNode = z.object({
  ...Node,
  reclaims: Count.min(1),
  lastAtMs: EpochMs,
  signal: z.string(),
  holders: z.array(Holder),
});
export type UnrelievedNode = z.infer<typeof UnrelievedNode>;

/** A policy that was applied. */
export const PolicyChange = z.object({
  atMs: EpochMs,
  name: z.string(),
  policyVersion: z.int().positive(),
  hash: z.string(),
  mode: Policy.shape.mode,
});
export type PolicyChange = z.infer<typeof PolicyChange>;

/**
 * When something happened: exactly, as its record says; else the record is not on the log any more, and it is when the
 * first decision was made that knew of it.
 */
export const Moment = z.object({ atMs: EpochMs, exact: z.boolean() });
export type Moment = z.infer<typeof Moment>;

/** A policy that was deleted. */
export const PolicyDeletion = z.object({ name: z.string(), deleted: Moment });
export type PolicyDeletion = z.infer<typeof PolicyDeletion>;

/** A pause that held in the time of the report, or a part of it. */
export const Pause = z.object({
  /** These three are `null` where nothing of the pause is left but that it ended. */
  selector: NodeSelector.nullable(),
  reason: PauseRecord.shape.reason.nullable(),
  /** As whoever paused calls themselves; empty where nobody said it. */
  by: z.string().nullable(),
  /** `null`: before anything is known. */
  begun: Moment.nullable(),
  /** `null`: it still held at the end. */
  ended: Moment.nullable(),
});
export type Pause = z.infer<typeof Pause>;

/** What `fleetgc audit report -o json` prints. All times are epoch milliseconds by the log's own clock. */
export const AuditReport = z.object({
  type: z.literal('fleetgc.audit-report'),
  version: z.literal(1),
  /** From `fromMs` up to and without `toMs`; `null` is no limit. */
  range: z.object({ fromMs: EpochMs.nullable(), toMs: EpochMs.nullable() }),
  read: z.object({
    nodes: Count,
    records: Count,
    /** Records that no consumer would take; nothing of them is in this report. */
    unreadable: Count,
    /** Both `null` where no record of a node or a cluster lies in the time. */
    firstMs: EpochMs.nullable(),
    lastMs: EpochMs.nullable(),
  }),
  /**
   * Only where no record of a node or a cluster lies in the time: from when to when there are inventories; `null` where there are none at
   * all.
   */
  kept: z.exactOptional(z.object({ firstMs: EpochMs, lastMs: EpochMs }).nullable()),
  decisions: z.array(z.object({ decider: z.string(), outcome: DecisionOutcome, decisions: Count })),
  removed: z.object({
    objects: Count,
    ...Freed,
    byRule: z.array(RemovedByRule),
    /** Equal spans in which something went; the others are left out. */
    bySpan: z.object({
      spanMs: z.int().positive(),
      spans: z.array(z.object({ startMs: EpochMs, objects: Count, ...Freed })),
    }),
  }),
  dryRun: z.object({
    /** Decisions that would have removed something. */
    decisions: Count,
    /** Of those the ones whose objects nobody can name, since their inventory lies before the time of the report. */
    unnamed: Count,
    objects: Count,
    /** Of the images. */
    estimatedBytes: Bytes,
  }),
  wouldGo: z.array(WouldGo),
  refused: z.array(z.object({ kind: ObjectKind, reason: ObjectRefusal, objects: Count })),
  failed: z.array(z.object({ kind: ObjectKind, reason: RemovalFailure, objects: Count })),
  /** Commands that were refused whole; none of their objects is counted elsewhere. */
  refusedCommands: z.array(z.object({ reason: CommandRefusal, commands: Count })),
  unrelieved: z.array(UnrelievedNode),
  pulledAgain: z.array(PulledAgain),
  policyChanges: z.array(PolicyChange),
  policyDeletions: z.array(PolicyDeletion),
  pauses: z.array(Pause),
  clusters: ClustersReport,
});
export type AuditReport = z.infer<typeof AuditReport>;
