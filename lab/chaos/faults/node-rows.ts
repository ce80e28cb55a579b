import { POLICY_IDS } from '../fleet/policies.ts';
import { executorOf, NODE_NAMES } from '../fleet/shape.ts';
import { fillUp } from '../fleet/small-filesystem.ts';
import { METHODS } from '../node/messages.ts';
import { between, nothing, one, press, type RowsOf } from './row.ts';

/** What happens to nodes and their runtimes, and what is put in force. */
export const NODE_ROWS: RowsOf<'runtime' | 'policy' | 'kill-at' | 'reboot' | 'state-full'> = {
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
  'kill-at': {
    weight: 5,
    draw: (random) => ({
      forMs: between(random, 2_000, 15_000),
      node: one(random, NODE_NAMES),
      moment: one(random, ['before', 'after'] as const),
    }),
    begin: (fleet, { node, moment }) => {
      const runtime = fleet.node(node);
      const relax = press(fleet, node);
      runtime.tell({ kind: 'stop-at', moment });
      void runtime.says('stopped').then(() => {
        fleet.part(executorOf(node)).kill();
        runtime.tell({ kind: 'go-on' });
      });
      return () => {
        runtime.tell({ kind: 'go-on' });
        relax();
      };
    },
  },
  reboot: {
    weight: 1,
    draw: (random) => ({ forMs: 0, node: one(random, NODE_NAMES) }),
    begin: (fleet, { node }) => {
      fleet.reboot(node);
      return nothing;
    },
  },
  'state-full': {
    weight: 1,
    draw: (random) => ({ forMs: between(random, 2_000, 10_000), node: one(random, NODE_NAMES) }),
    begin: (fleet, { node }) => fillUp(fleet.node(node).stateDirectory),
  },
};
