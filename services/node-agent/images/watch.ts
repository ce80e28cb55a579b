import type { Instant } from '../../../schemas/events/time.ts';

/** A time in which one detection followed the other without a break, in milliseconds since that boot. */
export interface Watch {
  readonly bootId: string;
  readonly sinceMs: number;
  readonly untilMs: number;
  /** From here on the wall clock ran as the time since boot does, which nobody can set. */
  readonly steadySince: Instant;
}

/** So often a kubelet looks at what is in use (B2, C7): a use that is shorter may go unseen by both. */
const LONGEST_BREAK_MS = 5 * 60 * 1000;
/** Reading two clocks takes a moment on a busy machine; nobody waits for so short an age. */
const LARGEST_JITTER_MS = 2_000;

/** The watch with one more detection. After a longer break, and in another boot, it begins anew: what was then nobody saw. */
export function watchedUntil(before: Watch | null, now: Instant): Watch {
  const { bootId, sinceBootMs } = now;
  const goesOn = before !== null && before.bootId === bootId && isShort(sinceBootMs - before.untilMs);
  if (!goesOn) return { bootId, sinceMs: sinceBootMs, untilMs: sinceBootMs, steadySince: now };
  const steadySince = isSteady(before.steadySince, now) ? before.steadySince : now;
  return { ...before, untilMs: sinceBootMs, steadySince };
}

const isShort = (breakMs: number): boolean => breakMs >= 0 && breakMs <= LONGEST_BREAK_MS;

/** Whether the wall clock shows at both what passed in between. */
const isSteady = (since: Instant, now: Instant): boolean =>
  since.bootId === now.bootId &&
  Math.abs(now.wallTimeMs - since.wallTimeMs - (now.sinceBootMs - since.sinceBootMs)) <= LARGEST_JITTER_MS;

/**
 * Since when the wall clock of `takenAt` has certainly not been set, by that clock: what it stamped before may be younger than
 * it says. `takenAt` itself where the clock was set since.
 */
export const clockSteadySinceMs = ({ steadySince }: Watch, takenAt: Instant): number =>
  isSteady(steadySince, takenAt) ? steadySince.wallTimeMs : takenAt.wallTimeMs;
