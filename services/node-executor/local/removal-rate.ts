import { z } from 'zod';
import { MINUTE_MS } from '../../../packages/process/durations.ts';
import type { Instant } from '../../../schemas/events/time.ts';

const MINUTES_COUNTED = 60;

/** Removals per minute of the last hour, by minutes since boot; negative for those before it. */
export const RemovalRate = z.object({
  bootId: z.string(),
  minutes: z.array(z.object({ minute: z.int(), removals: z.int().positive() })),
});
export type RemovalRate = z.infer<typeof RemovalRate>;

const minuteOf = ({ sinceBootMs }: Instant): number => Math.floor(sinceBootMs / MINUTE_MS);

/** One more that was tried, whatever came of it. */
export function withRemoval(rate: RemovalRate, now: Instant): RemovalRate {
  const minute = minuteOf(now);
  const kept = recent(rate, now);
  const removals = (kept.find((one) => one.minute === minute)?.removals ?? 0) + 1;
  return {
    bootId: now.bootId,
    minutes: [...kept.filter((one) => one.minute !== minute), { minute, removals }],
  };
}

export const removalsInLastHour = (rate: RemovalRate, now: Instant): number =>
  recent(rate, now).reduce((sum, { removals }) => sum + removals, 0);

/** How long the machine was off is not known, so removals of another boot count as if it had been for no time. */
function recent({ bootId, minutes }: RemovalRate, now: Instant): RemovalRate['minutes'] {
  const last = Math.max(0, ...minutes.map(({ minute }) => minute));
  const shift = bootId === now.bootId ? 0 : -last;
  return minutes
    .map(({ minute, removals }) => ({ minute: minute + shift, removals }))
    .filter(({ minute }) => minute > minuteOf(now) - MINUTES_COUNTED);
}
