import type { Grounds } from '../fleet/grounds.ts';
import type { Shape } from '../fleet/shape.ts';
import { between, type CommonRowsOf, one } from './row.ts';

/** What people stop for a while. */
export const pauseRows = ({ pausable }: Shape): CommonRowsOf<Grounds, 'pause'> => ({
  pause: {
    weight: 3,
    draw: (random) => ({ forMs: between(random, 4_000, 15_000), where: one(random, pausable) }),
    begin: async ({ operator }, { where }) => {
      await operator.pause(where);
      return () => operator.resume(where);
    },
  },
});
