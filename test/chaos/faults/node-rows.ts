import { POLICY_IDS } from '../fleet/policies.ts';
import { NODE_NAMES } from '../fleet/shape.ts';
import { METHODS } from '../node/messages.ts';
import { between, nothing, one, type RowsOf } from './row.ts';

/** What happens to runtimes, and what people do. */
export const NODE_ROWS: RowsOf<'runtime' | 'policy' | 'pause'> = {
  runtime: {
    weight: 6,
    draw: (random) => ({
      forMs: between(random, 500, 8_000),
      node: one(random, NODE_NAMES),
      trouble: one(random, [
        { how: one(random, ['hang', 'half', 'error', 'lie'] as const), method: one(random, METHODS) },
        {
          how: one(random, ['hang', 'error', 'lie'] as const),
          method: one(random, ['removeImage'] as const),
        },
        { how: 'away' },
        { how: 'slow', slowMs: between(random, 300, 2_500) },
        { how: 'late', lateMs: between(random, 200, 5_000) },
        { how: 'fill', toPercent: between(random, 85, 99) },
      ] as const),
    }),
    begin: (fleet, { node, trouble }) => {
      fleet.node(node).tell({ kind: 'trouble', trouble });
      return () => fleet.node(node).tell({ kind: 'heal' });
    },
  },
  policy: {
    weight: 3,
    draw: (random) => ({ forMs: 0, policy: one(random, POLICY_IDS) }),
    begin: async ({ operator }, { policy }) => {
      await operator.apply(policy);
      return nothing;
    },
  },
  pause: {
    weight: 3,
    draw: (random) => ({ forMs: between(random, 4_000, 15_000), where: one(random, ['*', ...NODE_NAMES]) }),
    begin: async ({ operator }, { where }) => {
      await operator.pause(where);
      return () => operator.resume(where);
    },
  },
};
