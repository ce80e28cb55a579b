import type { Instant } from '../../schemas/time.ts';

/** A time in which one detection followed the other without a break, in milliseconds since that boot. */
export interface Watch {
  readonly bootId: string;
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** So often a kubelet looks at what is in use (B2, C7): a use that is shorter may go unseen by both. */
const LONGEST_BREAK_MS = 5 * 60 * 1000;

/** The watch with one more detection. After a longer break, and in another boot, it begins anew: what was used then nobody saw. */
export function watchedUntil(before: Watch | null, { bootId, sinceBootMs }: Instant): Watch {
  const goesOn = before !== null && before.bootId === bootId && isShort(sinceBootMs - before.untilMs);
  return { bootId, sinceMs: goesOn ? before.sinceMs : sinceBootMs, untilMs: sinceBootMs };
}

const isShort = (breakMs: number): boolean => breakMs >= 0 && breakMs <= LONGEST_BREAK_MS;
