import { seededRandom } from '../../sim/random.ts';
import type { Grounds } from '../fleet/grounds.ts';
import { NODE_NAMES, type Shape } from '../fleet/shape.ts';
import { FORGERIES, forge, SIGNATURES } from './forgeries.ts';
import { REPETITIONS, repeat } from './messages.ts';
import { between, type CommonRowsOf, nothing, one, type RowsOf } from './row.ts';

/** What comes over the log once more. */
export const repeatRows = ({ repeated }: Shape): CommonRowsOf<Grounds, 'repeat'> => ({
  repeat: {
    weight: 4,
    draw: (random) => ({
      forMs: 0,
      topic: one(random, repeated),
      how: one(random, REPETITIONS),
      count: between(random, 1, 40),
    }),
    begin: ({ log, broker }, { topic, how, count, atMs }) =>
      broker.inTurn(async () => {
        await repeat(log, topic, how, { count, random: seededRandom(atMs) });
        return nothing;
      }),
  },
});

/** What comes over the log that nobody wrote who may. */
export const FORGE_ROWS: RowsOf<'forge'> = {
  forge: {
    weight: 4,
    draw: (random) => ({
      forMs: 0,
      node: one(random, NODE_NAMES),
      forgery: one(random, FORGERIES),
      signature: one(random, SIGNATURES),
    }),
    begin: (fleet, forging) =>
      fleet.broker.inTurn(async () => {
        await forge(fleet, forging);
        return nothing;
      }),
  },
};
