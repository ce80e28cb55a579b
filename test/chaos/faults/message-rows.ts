import { seededRandom } from '../../../sim/workload/random.ts';
import { NODE_NAMES } from '../fleet/shape.ts';
import { FORGERIES, forge, SIGNATURES } from './forgeries.ts';
import { REPEATED_TOPICS, REPETITIONS, repeat } from './messages.ts';
import { between, nothing, one, type RowsOf } from './row.ts';

/** What comes over the log that should not. */
export const MESSAGE_ROWS: RowsOf<'repeat' | 'forge'> = {
  repeat: {
    weight: 4,
    draw: (random) => ({
      forMs: 0,
      topic: one(random, [...REPEATED_TOPICS, 'gc.node.commands', 'gc.node.commands']),
      how: one(random, REPETITIONS),
      count: between(random, 1, 40),
    }),
    begin: ({ log, broker }, { topic, how, count, atMs }) =>
      broker.inTurn(async () => {
        await repeat(log, topic, how, { count, random: seededRandom(atMs) });
        return nothing;
      }),
  },
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
