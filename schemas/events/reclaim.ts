import { z } from 'zod';
import { EvictionSignal } from '../policy/eviction.ts';
import { EventId } from './event-id.ts';
import { FilesystemName, Resource, Uint64 } from './filesystem.ts';

/** What a reclaim wants, in absolute terms, so that the executor can stop by measurement alone. */
export const ReclaimTarget = z.strictObject({
  filesystem: FilesystemName,
  resource: Resource,
  /** Reached when the measured value is at least this. */
  atLeast: Uint64,
});
export type ReclaimTarget = z.infer<typeof ReclaimTarget>;

/** The longest that we write is the name of a policy, with 63 characters. */
export const MAX_CAUSE_TEXT_LENGTH = 128;
const CauseText = z.string().max(MAX_CAUSE_TEXT_LENGTH);

/** Why a reclaim began: for people, and for the record. */
export const ReclaimCause = z.strictObject({
  /** A usage threshold (`imageGC`, `imageGCAvailable`, `imageGCInodes`), else an eviction signal such as `imagefs.available`. */
  signal: CauseText.min(1),
  /** The threshold as configured, e.g. `85%`. */
  threshold: CauseText,
  /** The reading that met it, e.g. `91%`. */
  reading: CauseText,
  policy: CauseText,
  /** Id of the disk-stats event that showed it. */
  eventId: EventId,
});
export type ReclaimCause = z.infer<typeof ReclaimCause>;

/** @limit Rounds of one reclaim. Older processes and frozen deciders refuse more. */
export const MAX_RECLAIM_ROUNDS = 5;

/** What a reclaim does for its target: dead containers, sandboxes and logs go, or images (J5). */
export const ReclaimAction = z.enum(['containers', 'images']);
export type ReclaimAction = z.infer<typeof ReclaimAction>;

/** What every reclaim went through before it said so itself. */
const BOTH_ACTIONS: readonly ReclaimAction[] = ['containers', 'images'];

/**
 * Where a reclaim stands. It travels with every order, inventory, command and result of the reclaim, which is why no
 * service has to remember it.
 */
export const Reclaim = z
  .strictObject({
    /** Derived from the event that began it, so a redelivery begins the same one. */
    id: EventId,
    cause: ReclaimCause,
    target: ReclaimTarget,
    /** In the order in which they are gone through. */
    actions: z
      .array(ReclaimAction)
      .min(1)
      .max(BOTH_ACTIONS.length)
      .default(() => [...BOTH_ACTIONS]),
    /** The action in hand. */
    step: ReclaimAction,
    round: z.int().min(1).max(MAX_RECLAIM_ROUNDS),
  })
  .refine(({ actions, step }) => actions.includes(step) && new Set(actions).size === actions.length, {
    error: 'actions must differ, and step must be one of them',
  });
export type Reclaim = z.infer<typeof Reclaim>;

/** Whether an eviction signal began the reclaim (J), and not a usage threshold of image GC. */
export const isForced = ({ cause }: Reclaim): boolean => EVICTION_SIGNALS.has(cause.signal);

const EVICTION_SIGNALS: ReadonlySet<string> = new Set(EvictionSignal.options);

/** Whether the reclaim begins, and does not go on. */
export const isAtBeginning = ({ actions, step, round }: Reclaim): boolean =>
  step === actions[0] && round === 1;

/** The reclaim at its next action; `null` when it has none left. */
export function atNextAction(reclaim: Reclaim): Reclaim | null {
  const step = reclaim.actions[reclaim.actions.indexOf(reclaim.step) + 1];
  return step === undefined ? null : { ...reclaim, step, round: 1 };
}
