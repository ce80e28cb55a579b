import { MINUTE_MS } from './durations.ts';

/** Answers whether one more may be told about something: so many in each minute, by a clock that does not jump. */
export function sparingly(mostPerMinute: number, now: () => number): (what: string) => boolean {
  const told = new Map<string, number>();
  let minute = Number.NEGATIVE_INFINITY;
  return (what) => {
    const thisMinute = Math.floor(now() / MINUTE_MS);
    if (thisMinute !== minute) told.clear();
    minute = thisMinute;
    const times = (told.get(what) ?? 0) + 1;
    told.set(what, times);
    return times <= mostPerMinute;
  };
}
