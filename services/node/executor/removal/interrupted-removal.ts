import type { ObjectOutcome } from '../../../../schemas/events/result.ts';
import type { Instant } from '../../../../schemas/events/time.ts';
import type { CommandItem } from '../checks/removable.ts';
import type { ItemProgress } from '../journal/journal-state.ts';
import type { ItemEnd, Recorder } from '../results/record-results.ts';

/** An object that an earlier process asked the runtime to remove, which ended before it had an answer. */
export interface InterruptedRemoval {
  readonly item: CommandItem;
  readonly askedAt: Instant;
}

export type End = Omit<ItemEnd, 'index' | 'item'>;
type Removal = Pick<Extract<ItemProgress, { state: 'removed' }>, 'durationMs'>;

/** A runtime goes on with what it was asked for: what this process leaves alone may go all the same. */
export function afterInterrupted(interrupted: InterruptedRemoval, end: End, recorder: Recorder): End {
  const { outcome } = end;
  switch (outcome.outcome) {
    case 'removed':
    case 'failed':
      return end;
    case 'not-found':
      return goneSince(interrupted, recorder);
    case 'refused':
    case 'not-needed':
    case 'not-done':
      return mayBeRemoved(interrupted, `it is left alone now (${outcome.message})`, recorder);
  }
}

/** By this process or the one before it: either way it is gone, and nothing is measured of it any more. */
export function goneSince({ item, askedAt }: InterruptedRemoval, recorder: Recorder): End {
  return removedEarlier(item, { durationMs: durationMs(askedAt, recorder.clock.now()) }, recorder);
}

export const removedEarlier = (item: CommandItem, removal: Removal, { clock }: Recorder): End => ({
  outcome: unmeasured(item, removal),
  actedAt: clock.now(),
  name: null,
});

/** Nobody knows that it stays: a refusal would say that nothing was done. */
export function mayBeRemoved({ item }: InterruptedRemoval, seen: string, { clock, backoff }: Recorder): End {
  const actedAt = clock.now();
  const outcome: ObjectOutcome = {
    outcome: 'failed',
    reason: 'deadline-exceeded',
    message: `it was being removed when an earlier process ended, and ${seen}: the runtime may have removed it, or may do so yet`,
    backoffUntilMs: backoff.failed(item, actedAt.wallTimeMs).untilMs,
  };
  return { outcome, actedAt, name: null };
}

/** What is known of a removal when nobody is there to measure what it freed. */
export const unmeasured = (item: CommandItem, { durationMs }: Removal): ObjectOutcome => ({
  outcome: 'removed',
  measured: null,
  estimatedBytes: estimateOf(item),
  durationMs,
});

/** Sizes of anything but images are not known before. */
export const estimateOf = (item: CommandItem): number | null =>
  'estimatedBytes' in item ? item.estimatedBytes : null;

/** Over a reboot nobody knows, nor from a moment that has not come. */
export const durationMs = (since: Instant, until: Instant): number =>
  since.bootId === until.bootId ? Math.max(0, until.sinceBootMs - since.sinceBootMs) : 0;
