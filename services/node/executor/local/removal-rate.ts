import { z } from 'zod';
import { MINUTE_MS } from '../../../../packages/process/durations.ts';
import type { Instant } from '../../../../schemas/events/time.ts';

const MINUTES_COUNTED = 60;

/** Removals per minute of the last hour, and of the minute in which that hour began, by minutes since boot; negative for those before it. */
export const RemovalRate = z.object({
  bootId: z.string(),
  minutes: z.array(z.object({ minute: z.int(), removals: z.int().positive() })),
  /** In which a journal was lost: what was removed within the hour before it nobody knows. */
  lostMinute: z.exactOptional(z.int()),
});
export type RemovalRate = z.infer<typeof RemovalRate>;

const minuteOf = ({ sinceBootMs }: Instant): number => Math.floor(sinceBootMs / MINUTE_MS);

/** From here on, for an hour, nobody knows how many there were. */
export const lostRate = (now: Instant): RemovalRate => ({
  bootId: now.bootId,
  minutes: [],
  lostMinute: minuteOf(now),
});

/** One more that was tried, whatever came of it. */
export function withRemoval(rate: RemovalRate, now: Instant): RemovalRate {
  const minute = minuteOf(now);
  const kept = recent(rate, now);
  const removals = (kept.minutes.find((one) => one.minute === minute)?.removals ?? 0) + 1;
  return { ...kept, minutes: [...kept.minutes.filter((one) => one.minute !== minute), { minute, removals }] };
}

/** `null` where nobody knows. */
export function removalsInLastHour(rate: RemovalRate, now: Instant): number | null {
  const { minutes, lostMinute } = recent(rate, now);
  return lostMinute === undefined ? minutes.reduce((sum, { removals }) => sum + removals, 0) : null;
}

/** How long the machine was off is not known, so removals of another boot count as if it had been for no time. */
function recent({ bootId, minutes, lostMinute }: RemovalRate, now: Instant): RemovalRate {
  const last = Math.max(0, lostMinute ?? 0, ...minutes.map(({ minute }) => minute));
  const shift = bootId === now.bootId ? 0 : -last;
  const first = minuteOf(now) - MINUTES_COUNTED;
  const isLost = lostMinute !== undefined && lostMinute + shift >= first;
  return {
    bootId: now.bootId,
    minutes: minutes
      .map(({ minute, removals }) => ({ minute: minute + shift, removals }))
      .filter(({ minute }) => minute >= first),
    ...(isLost && { lostMinute: lostMinute + shift }),
  };
}
