import type { Grounds } from '../fleet/grounds.ts';
import type { Shape } from '../fleet/shape.ts';
import { between, type CommonRowsOf, nothing, one } from './row.ts';

/** A second, a minute, an hour, a day, a year. */
const CLOCK_STEPS_MS = [1_000, 60_000, 3_600_000, 86_400_000, 31_536_000_000];

/** A part that ends again and again is started later and later. */
const MOST_DOWN_MS = 5_000;

/** How much slower everything is in a round that is slowed down. */
export const SLOWED_BY = 20;

type Kinds = 'kill' | 'doubled' | 'freeze' | 'slow' | 'clock' | 'archive';

/** What happens to processes and the machines that they run on. `pressOf`: something comes to do for this part, until that is ended. */
export const processRows = <On extends Grounds>(
  { parts, killed, doubled, machines }: Shape,
  pressOf: (on: On, part: string) => () => void,
): CommonRowsOf<On, Kinds> => ({
  kill: {
    weight: 8,
    draw: (random) => ({
      forMs: random() < 0.5 ? 0 : between(random, 500, MOST_DOWN_MS),
      part: one(random, killed),
    }),
    begin: (on, { part, forMs }) => {
      const victim = on.part(part);
      if (forMs === 0) {
        victim.kill();
        return nothing;
      }
      victim.killAndHold();
      // There is something to do while there is none of it, or two.
      const relax = pressOf(on, part);
      return () => {
        victim.release();
        relax();
      };
    },
  },
  doubled: {
    weight: 3,
    draw: (random) => ({ forMs: between(random, 5_000, 12_000), part: one(random, doubled) }),
    begin: (on, { part }) => {
      const another = on.double(part);
      const relax = pressOf(on, part);
      return async () => {
        relax();
        await another[Symbol.asyncDispose]();
      };
    },
  },
  freeze: {
    weight: 3,
    draw: (random) => ({ forMs: between(random, 500, 15_000), part: one(random, parts) }),
    begin: (on, { part }) => {
      on.part(part).freeze();
      return () => on.part(part).thaw();
    },
  },
  // Half of the rounds have it from the beginning to the end, and the others not at all.
  slow: {
    weight: 0,
    draw: () => ({ forMs: 0, factor: SLOWED_BY }),
    begin: (on, { factor }) => {
      for (const part of on.parts) part.slow(factor);
      return () => {
        for (const part of on.parts) part.slow(1);
      };
    },
  },
  clock: {
    weight: 3,
    draw: (random) => ({
      forMs: 0,
      machine: one(random, machines),
      offsetMs: one(random, [1, -1]) * between(random, 1, 9) * one(random, CLOCK_STEPS_MS),
    }),
    begin: (on, { machine, offsetMs }) => {
      on.clock(machine).set(offsetMs);
      return nothing;
    },
  },
  archive: {
    weight: 2,
    draw: (random) => ({
      forMs: between(random, 300, 3_000),
      how: one(random, ['whole', 'killed', 'killed', 'full'] as const),
    }),
    begin: async ({ archive }, { how }) => {
      const free = how === 'full' ? await archive.fill() : null;
      const pass = await archive.pass();
      return async () => {
        if (how === 'killed') pass.kill();
        await pass.ended();
        free?.();
      };
    },
  },
});
