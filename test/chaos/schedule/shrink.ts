import type { Schedule } from './schedule.ts';

/** Whether a schedule still shows what is looked for. */
export type Shows = (schedule: Schedule) => Promise<boolean>;

/**
 * A shorter schedule that still shows it: halves of the faults are left out, then quarters, down to single ones, until
 * none of them can be (delta debugging). What shows itself only now and then shrinks less.
 */
export async function shrink(schedule: Schedule, shows: Shows): Promise<Schedule> {
  let shortest = schedule;
  let parts = 2;
  while (parts <= shortest.faults.length) {
    const shorter = await firstThatShows(candidates(shortest, parts), shows);
    if (shorter !== null) {
      shortest = shorter;
      parts = Math.max(2, parts - 1);
    } else if (parts === shortest.faults.length) return shortest;
    else parts = Math.min(shortest.faults.length, parts * 2);
  }
  return shortest;
}

/** The schedule without each of so many parts of it. */
function candidates(schedule: Schedule, parts: number): readonly Schedule[] {
  const size = Math.ceil(schedule.faults.length / parts);
  return Array.from({ length: parts }, (_, part) => ({
    ...schedule,
    faults: schedule.faults.filter((_fault, index) => Math.floor(index / size) !== part),
  })).filter(({ faults }) => faults.length < schedule.faults.length);
}

async function firstThatShows(schedules: readonly Schedule[], shows: Shows): Promise<Schedule | null> {
  for (const schedule of schedules) if (await shows(schedule)) return schedule;
  return null;
}
