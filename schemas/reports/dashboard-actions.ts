import { z } from 'zod';
import { EventId } from '../events/event-id.ts';
import { ClusterName } from '../events/identity.ts';
import { ApprovedKind, MAX_APPROVAL_MS, WrittenText } from '../policy/approval.ts';
import { NodeSelector } from '../policy/policy.ts';

/*
 * What people may do from the page of `fleetgc dashboard --allow-actions`: what they ask for, and what came of it.
 */

const SHORTEST_MS = 60_000;
const MOST_NAME_LENGTH = 1_500;
/** So many dead letters go back at once. */
const MOST_LETTERS = 100;

/** Made by the page for each thing that somebody wants done: asked for twice, it is done once. */
const asked = { id: z.uuid() };
const Reason = WrittenText.trim();
const NeededReason = Reason.min(1);

/** Nodes by their labels `pause` cannot name either. */
const PausedSelector = NodeSelector.extend({ nodeLabels: z.strictObject({}) });

/** As `fleetgc held` names it. */
const heldThing = {
  cluster: ClusterName,
  name: z.string().min(1).max(MOST_NAME_LENGTH),
  as: ApprovedKind,
};

export const DASHBOARD_ACTIONS = {
  /** As `fleetgc pause`. */
  pause: z.strictObject({ ...asked, selector: PausedSelector, reason: NeededReason }),
  /** As `fleetgc resume`; `null`: every pause. */
  resume: z.strictObject({ ...asked, selector: NodeSelector.nullable(), reason: Reason }),
  /** As `fleetgc approve`: no more objects than somebody saw, and no others. */
  approve: z.strictObject({
    ...asked,
    ...heldThing,
    objects: z.int().positive(),
    shown: z.string().regex(/^[0-9a-f]{16}$/),
    forMs: z.int().min(SHORTEST_MS).max(MAX_APPROVAL_MS),
    reason: NeededReason,
  }),
  /** As `fleetgc approve --withdraw`. */
  withdraw: z.strictObject({ ...asked, ...heldThing, reason: Reason }),
  /** As `fleetgc dead-letters redrive`. */
  redrive: z.strictObject({
    ...asked,
    letters: z.array(EventId).min(1).max(MOST_LETTERS),
    again: z.boolean(),
    reason: Reason,
  }),
} as const;

export type DashboardActionName = keyof typeof DASHBOARD_ACTIONS;
export type DashboardAction<Name extends DashboardActionName> = z.infer<(typeof DASHBOARD_ACTIONS)[Name]>;

/** What came of it, in sentences. */
export const DashboardActionDone = z.object({ text: z.string(), notes: z.array(z.string()) });
export type DashboardActionDone = z.infer<typeof DashboardActionDone>;

const EpochMs = z.int().nonnegative();

/** The pauses that stand on the log, those that were begun last first. */
export const DashboardPauses = z.object({
  pauses: z.array(
    z.object({
      selector: NodeSelector,
      /** The selector in words. */
      text: z.string(),
      reason: z.string(),
      /** As whoever paused calls themselves; `null` where nobody said it. */
      by: z.string().nullable(),
      sinceMs: EpochMs,
    }),
  ),
});
export type DashboardPauses = z.infer<typeof DashboardPauses>;
