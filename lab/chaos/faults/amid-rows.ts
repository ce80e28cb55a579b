import { executorOf, NODE_NAMES } from '../fleet/shape.ts';
import { CHANGES } from '../node/messages.ts';
import { FORGERIES, forge, isOfReclaim, SIGNATURES } from './forgeries.ts';
import { replaceDecider, revokeDecider } from './key-rows.ts';
import { between, one, press, type RowsOf } from './row.ts';

/** Policies under which something stays that goes under the usual one. */
const STRICTER = ['keeps-team', 'dry-run', 'patient'] as const;
/** Longer than a decision service takes, so that what is forged comes first. */
const HEAD_START_MS = 1_000;

/** What others sign is refused as it comes; a stolen key leads farther. */
const MOSTLY_STOLEN: readonly (typeof SIGNATURES)[number][] = [
  'stolen',
  'stolen',
  'stolen',
  'stolen',
  ...SIGNATURES,
];

/** What happens in the very moments in which a node removes, or says what it removed. */
export const AMID_ROWS: RowsOf<'amid' | 'forge-at' | 'publish'> = {
  amid: {
    weight: 8,
    draw: (random) => ({
      forMs: between(random, 6_000, 12_000),
      node: one(random, NODE_NAMES),
      change: one(random, CHANGES),
      policy: one(random, STRICTER),
      slowMs: between(random, 1_200, 2_500),
    }),
    begin: (fleet, { node, change, policy, slowMs }) => {
      const runtime = fleet.node(node);
      const { operator } = fleet;
      const due = runtime.says('amid');
      runtime.tell({ kind: 'amid', change, slowMs });
      let acts: Promise<void> = Promise.resolve();
      let isOver = false;
      void due.then(() => {
        if (isOver) return;
        if (change === 'paused') acts = operator.pause(node);
        if (change === 'policy') acts = operator.apply(policy);
        if (change === 'revoked') acts = revokeDecider(fleet);
      });
      return async () => {
        isOver = true;
        runtime.tell({ kind: 'amid-over' });
        await acts;
        if (change === 'paused') await operator.resume(node);
        if (change === 'revoked') await replaceDecider(fleet, 'at-once');
      };
    },
  },
  'forge-at': {
    weight: 5,
    draw: (random) => ({
      forMs: between(random, 5_000, 10_000),
      node: one(random, NODE_NAMES),
      forgery: one(random, [
        'greedy-command',
        'greedy-command',
        'greedy-command',
        'greedy-command',
        ...FORGERIES,
      ]),
      signature: one(random, MOSTLY_STOLEN),
      policy: one(random, ['usual', 'patient', 'patient'] as const),
    }),
    begin: async (fleet, { node, policy, ...forging }) => {
      const { log, broker, operator } = fleet;
      await operator.apply(policy);
      const ends = [
        press(fleet, node),
        broker.proxy.trouble('fleetgc-image-gc', { how: 'slow', delayMs: HEAD_START_MS }),
        log.onRecord((record) => {
          if (!isOfReclaim(record, node)) return;
          // The broker may be away: nobody forges anything then.
          forge(fleet, { node, ...forging }).catch(() => undefined);
        }),
      ];
      return () => {
        for (const end of ends) end();
      };
    },
  },
  publish: {
    weight: 5,
    draw: (random) => ({
      forMs: between(random, 2_000, 8_000),
      node: one(random, NODE_NAMES),
      lost: one(random, ['request', 'answer'] as const),
      isKilled: random() < 0.6,
    }),
    begin: (fleet, { node, lost, isKilled }) => {
      const { broker, part } = fleet;
      const relax = press(fleet, node);
      const executor = executorOf(node);
      const end = broker.proxy.troublePublishing({
        clientId: `fleetgc-${executor.slice(executor.indexOf('/') + 1)}`,
        topic: 'gc.node.results',
        lost,
        connection: isKilled ? 'silent' : 'broken',
        met: () => {
          if (!isKilled) return;
          end();
          part(executor).kill();
        },
      });
      return () => {
        end();
        relax();
      };
    },
  },
};
