/** Whether a schedule still shows what is looked for. */
export type Shows<S> = (schedule: S) => Promise<boolean>;

interface WithFaults {
  readonly faults: readonly unknown[];
}

/**
 * A shorter schedule that still shows it: halves of the faults are left out, then quarters, down to single ones, until
 * none of them can be (delta debugging). What shows itself only now and then shrinks less.
 */
export async function shrink<S extends WithFaults>(schedule: S, shows: Shows<S>): Promise<S> {
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
function candidates<S extends WithFaults>(schedule: S, parts: number): readonly S[] {
  const size = Math.ceil(schedule.faults.length / parts);
  return Array.from({ length: parts }, (_, part) => ({
    ...schedule,
    faults: schedule.faults.filter((_fault, index) => Math.floor(index / size) !== part),
  })).filter(({ faults }) => faults.length < schedule.faults.length);
}

async function firstThatShows<S>(schedules: readonly S[], shows: Shows<S>): Promise<S | null> {
  for (const schedule of schedules) if (await shows(schedule)) return schedule;
  return null;
}
