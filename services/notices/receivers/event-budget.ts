/** What may still be written about one node, at a time in milliseconds of a clock that does not jump. */
export interface Budget {
  readonly events: number;
  readonly atMs: number;
}

/** As client-go's filter of spam: so many at once, and then one in five minutes. */
export const MOST_AT_ONCE = 25;
export const ONE_IN_MS = 300_000;

export const NO_EVENTS_YET: Budget = { events: MOST_AT_ONCE, atMs: 0 };

/** What is left after one more; `null` where there may be no more now. */
export function spend({ events, atMs }: Budget, nowMs: number): Budget | null {
  const grown = Math.min(MOST_AT_ONCE, events + Math.max(0, nowMs - atMs) / ONE_IN_MS);
  return grown < 1 ? null : { events: grown - 1, atMs: nowMs };
}
