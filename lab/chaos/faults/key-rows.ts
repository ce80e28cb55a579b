import { setTimeout as sleep } from 'node:timers/promises';
import { deleteTopics } from '../broker/topics.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { Grounds, RestartHow } from '../fleet/grounds.ts';
import { NODE_NAMES } from '../fleet/shape.ts';
import { between, type CommonRowsOf, one, press, type RowsOf } from './row.ts';

const HOUR_MS = 3_600_000;
/** What has ended for so long has ended by everybody's clock. */
const SURELY_ENDED_MS = 500;

/** What happens to keys, and to what roots say of them. */
export const KEY_ROWS: CommonRowsOf<Grounds, 'key-rotated' | 'operator-revoked' | 'keys-lost'> = {
  'key-rotated': {
    weight: 2,
    draw: (random) => ({ forMs: 0, how: one(random, ['in-turn', 'at-once'] as const) }),
    begin:
      (fleet, { how }) =>
      () =>
        replaceDecider(fleet, how),
  },
  'operator-revoked': {
    weight: 2,
    draw: (random) => ({ forMs: between(random, 0, 5_000), isStolen: random() < 0.6 }),
    begin: ({ operator }, revoking) => {
      const replaced = operator.replaceKey(revoking);
      return () => replaced;
    },
  },
  'keys-lost': {
    weight: 1,
    draw: (random) => ({ forMs: between(random, 500, 8_000) }),
    begin: ({ broker, operator, keys, untilDone }) =>
      broker.inTurn(async () => {
        await deleteTopics(broker.address, ['gc.keys']);
        await operator.createTopics();
        return () => keys.publishAll(untilDone);
      }),
  },
};

/** What happens to the deciders' key while a node has something to remove. */
export const DECIDER_KEY_ROWS: RowsOf<'key-revoked' | 'key-ended'> = {
  'key-revoked': {
    weight: 2,
    draw: (random) => ({ forMs: between(random, 1_000, 8_000), node: one(random, NODE_NAMES) }),
    begin: async (fleet, { node }) => {
      const relax = press(fleet, node);
      await revokeDecider(fleet);
      return async () => {
        relax();
        await replaceDecider(fleet, 'at-once');
      };
    },
  },
  'key-ended': {
    weight: 3,
    draw: (random) => ({
      forMs: between(random, 4_000, 10_000),
      validForMs: between(random, 500, 2_500),
      node: one(random, NODE_NAMES),
      isClockBack: random() < 0.6,
    }),
    begin: async (fleet, { node, validForMs, isClockBack }) => {
      const { keys, untilDone } = fleet;
      const key = keys.current('decider');
      await keys.certify(untilDone, { key, role: 'decider', validForMs });
      if (isClockBack) await setBackOverEnd(fleet, node, validForMs);
      // An order that was refused is not given again soon.
      const relax = press(fleet, node);
      return async () => {
        relax();
        await keys.certify(untilDone, { key, role: 'decider' });
      };
    },
  },
};

async function setBackOverEnd(fleet: Fleet, node: string, validForMs: number): Promise<void> {
  const { keys, untilDone, clock } = fleet;
  await sleep(validForMs + SURELY_ENDED_MS);
  // Whoever has read this knows that it is later.
  await keys.certify(untilDone, { key: keys.spare, role: 'decider' });
  clock(node).set(-HOUR_MS);
}

export const revokeDecider = ({ keys, untilDone }: Grounds): Promise<void> =>
  keys.revoke(untilDone, keys.current('decider'), 0);

/** Another key for the services, which sign with it once they were started anew. */
export async function replaceDecider(fleet: Grounds, how: RestartHow): Promise<void> {
  const { keys, untilDone, restartServices } = fleet;
  await keys.certify(untilDone, { key: keys.replace('decider'), role: 'decider' });
  await restartServices(how);
}
