import { z } from 'zod';
import { KeyId, KeyRole } from '../keys/key-statement.ts';

/*
 * What people did, as `fleetgc dashboard` tells it from `gc.policy-versions` and the notes on `gc.dead-letters`.
 */

const EpochMs = z.int().nonnegative();

export const HistoryKind = z.enum([
  'paused',
  'resumed',
  'approved',
  'withdrawn',
  'policy-applied',
  'policy-deleted',
  'put-back',
]);
export type HistoryKind = z.infer<typeof HistoryKind>;

const Entry = z.object({
  /** By where it lies. */
  id: z.string(),
  atMs: EpochMs,
  what: HistoryKind,
  /** What it was done with, in words. */
  about: z.string(),
  /** As whoever did it calls themselves; `null` where nobody said it. */
  by: z.string().nullable(),
  reason: z.string(),
  /** Whose key signed it; `null`: nobody did, or nobody looks at signatures here. */
  signedBy: z.object({ keyId: KeyId, role: KeyRole, name: z.string() }).nullable(),
  /** It was written down and never put in force: whoever did it was interrupted. */
  isUnfinished: z.boolean(),
  /** Why it does not count, in a sentence; `null`: it does, or nobody looks at signatures here. */
  objection: z.string().nullable(),
});
export type HistoryEntry = z.infer<typeof Entry>;

/** The newest first; `before` is what to ask on with, `null` at the end. */
export const DashboardHistory = z.object({
  entries: z.array(Entry),
  before: z.string().nullable(),
  /** Whether signatures are looked at. */
  isJudged: z.boolean(),
});
export type DashboardHistory = z.infer<typeof DashboardHistory>;
