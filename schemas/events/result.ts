import { z } from 'zod';
import { Holder } from './command.ts';
import { EventId } from './event-id.ts';
import { FilesystemName, Uint64 } from './filesystem.ts';
import { NodeIdentity } from './identity.ts';
import { ObjectKind, RemovalKind } from './object-kinds.ts';
import { Reclaim, ReclaimTarget } from './reclaim.ts';
import { ABOUT, resultHeader } from './subject-headers.ts';
import { Instant } from './time.ts';

/** Why a command as a whole was not carried out. */
export const CommandRefusal = z.enum([
  'expired',
  'superseded',
  'policy-not-in-force',
  'other-boot',
  'other-node',
  'other-instance',
  'taken-in-the-future',
  'paused',
  'held',
  'malformed',
  'unsupported-version',
  'not-trusted',
]);
export type CommandRefusal = z.infer<typeof CommandRefusal>;

/** Why one object was not removed although the command named it. */
export const ObjectRefusal = z.enum([
  ...CommandRefusal.options,
  'in-use',
  'in-use-outside-cri',
  'pinned',
  'kept-by-policy',
  'kept-by-own-plan',
  'kept-by-node',
  'running',
  'ready',
  'has-containers',
  'first-detected-later',
  'too-young',
  'not-ours',
  'unsafe-log-path',
  'target-exists',
  'sandbox-image-unknown',
  'pod-images-unknown',
  'pod-is-back',
  'pods-unknown',
  'container-image-unknown',
  'backing-off',
  'rate-limited',
  'runtime-unavailable',
]);
export type ObjectRefusal = z.infer<typeof ObjectRefusal>;

/** What went wrong in a removal that was tried. */
export const RemovalFailure = z.enum([
  'still-listed',
  'runtime-error',
  'deadline-exceeded',
  'stop-failed',
  'log-removal-failed',
]);
export type RemovalFailure = z.infer<typeof RemovalFailure>;

/** Available space before and after, as statfs gave it. What others wrote in between is in it too. */
export const Measured = z.object({ filesystem: FilesystemName, beforeBytes: Uint64, afterBytes: Uint64 });
export type Measured = z.infer<typeof Measured>;

const header = {
  ...resultHeader(ABOUT.node),
  decisionId: EventId,
  inventoryId: EventId,
  /** `memory` when the state directory could not be written. */
  journal: z.enum(['disk', 'memory']),
};

/** What was done to an object that stayed all the same, or went by somebody else's hand: it stopped, or lost its log files. */
export const AlreadyDone = z.enum(['stopped', 'logs-removed']);
export type AlreadyDone = z.infer<typeof AlreadyDone>;

/** Left out where nothing was done to the object. */
const alreadyDone = z.exactOptional(z.array(AlreadyDone).min(1));

/** `not-found` is success (M31); `not-needed` and `not-done` are objects the executor did not come to. */
export const ObjectOutcome = z.discriminatedUnion('outcome', [
  z.object({
    outcome: z.literal('removed'),
    measured: Measured.nullable(),
    /** What the plan counted the removal with; `null` where nobody counted (M7). */
    estimatedBytes: z.int().nonnegative().nullable().default(null),
    durationMs: z.int().nonnegative(),
  }),
  z.object({ outcome: z.literal('not-found'), alreadyDone }),
  z.object({ outcome: z.literal('refused'), reason: ObjectRefusal, message: z.string(), alreadyDone }),
  z.object({
    outcome: z.literal('failed'),
    reason: RemovalFailure,
    message: z.string(),
    backoffUntilMs: z.int().nonnegative(),
    alreadyDone,
  }),
  z.object({ outcome: z.literal('not-needed'), message: z.string() }),
  z.object({ outcome: z.literal('not-done'), message: z.string() }),
]);
export type ObjectOutcome = z.infer<typeof ObjectOutcome>;
export type Removed = Extract<ObjectOutcome, { readonly outcome: 'removed' }>;

/**
 * Fact: an executor whose journal is kept in memory is about to remove an object. The event log acknowledges it before the removal, so that
 * one that ends before its result leaves a trace. Where the journal is on disk, that is the trace.
 */
export const RemovalIntent = z.object({
  type: z.literal('fleetgc.node.removal-intent'),
  ...header,
  object: z.object({ kind: ObjectKind, id: z.string().min(1) }),
  rule: z.string(),
});
export type RemovalIntent = z.infer<typeof RemovalIntent>;

/** Fact: what became of one object of a command. */
export const ObjectResult = z.object({
  type: z.literal('fleetgc.node.object-result'),
  ...header,
  object: z.object({ kind: ObjectKind, id: z.string().min(1) }),
  rule: z.string(),
  result: ObjectOutcome,
});
export type ObjectResult = z.infer<typeof ObjectResult>;

/** Fact: what became of a command, after the results of its objects. */
export const CommandResult = z.object({
  type: z.literal('fleetgc.node.command-result'),
  ...header,
  /** `null` where what came was no command and named none. */
  decisionId: header.decisionId.nullable(),
  /** `null` as for the decision. */
  inventoryId: header.inventoryId.nullable(),
  kind: z.enum([...RemovalKind.options, 'unknown']),
  result: z.discriminatedUnion('outcome', [
    z.object({
      outcome: z.literal('done'),
      removed: z.int().nonnegative(),
      notFound: z.int().nonnegative(),
      refused: z.int().nonnegative(),
      failed: z.int().nonnegative(),
      notNeeded: z.int().nonnegative(),
      notDone: z.int().nonnegative(),
      measured: Measured.nullable(),
      /** What the plan counted the images with that were removed; `null` where nobody counted (M7). */
      estimatedBytes: z.int().nonnegative().nullable().default(null),
      /** `null` when the command had no target. */
      targetReached: z.boolean().nullable(),
    }),
    z.object({ outcome: z.literal('refused'), reason: CommandRefusal, message: z.string() }),
  ]),
});
export type CommandResult = z.infer<typeof CommandResult>;

/** By the names of the Warning events that a kubelet puts on its Node (D21, L1). */
export const PassProblem = z.enum(['image-gc-failed', 'container-gc-failed', 'free-disk-space-failed']);
export type PassProblem = z.infer<typeof PassProblem>;

/** Fact: a command was carried out with errors, or ended above the target of its reclaim. Errors and bytes, both (M18). */
export const PassFailed = z.object({
  type: z.literal('fleetgc.node.pass-failed'),
  ...header,
  problem: PassProblem,
  removed: z.int().nonnegative(),
  failed: z.int().nonnegative(),
  measured: Measured.nullable(),
  /** `null` when the command had none. */
  target: ReclaimTarget.nullable(),
  message: z.string(),
});
export type PassFailed = z.infer<typeof PassFailed>;

/**
 * Fact: a command of a reclaim ended above the target, and what the reclaim has to do next. Nodes order nothing: pressure answers it
 * with the order.
 */
export const ReclaimContinues = z.object({
  type: z.literal('fleetgc.node.reclaim-continues'),
  version: z.literal(1),
  id: EventId,
  ...NodeIdentity.shape,
  takenAt: Instant,
  commandId: EventId,
  /** At its next round or action. */
  reclaim: Reclaim,
  /** Of what the reclaim is about, when the command ended; `null` where it could not be measured. */
  availableNow: Uint64.nullable(),
});
export type ReclaimContinues = z.infer<typeof ReclaimContinues>;

/**
 * Fact: a reclaim ended above its target. From the executor when it measured so, from image-gc when there was nothing
 * to command.
 */
export const PressureUnrelieved = z.object({
  type: z.literal('fleetgc.node.pressure-unrelieved'),
  version: z.literal(1),
  id: EventId,
  ...NodeIdentity.shape,
  takenAt: Instant,
  reclaim: Reclaim,
  availableNow: Uint64.nullable(),
  holders: z.array(Holder),
});
export type PressureUnrelieved = z.infer<typeof PressureUnrelieved>;
