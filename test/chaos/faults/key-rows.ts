import { setTimeout as sleep } from 'node:timers/promises';
import { deleteTopics } from '../broker/topics.ts';
import type { Fleet, RestartHow } from '../fleet/fleet.ts';
import { NODE_NAMES } from '../fleet/shape.ts';
import { between, one, press, type RowsOf } from './row.ts';

const HOUR_MS = 3_600_000;
/** What has ended for so long has ended by everybody's clock. */
const SURELY_ENDED_MS = 500;

/** What happens to keys, and to what roots say of them. */
export const KEY_ROWS: RowsOf<
  'key-rotated' | 'key-revoked' | 'key-ended' | 'operator-revoked' | 'keys-lost'
> = {
  'key-rotated': {
    weight: 2,
    draw: (random) => ({ forMs: 0, how: one(random, ['in-turn', 'at-once'] as const) }),
    begin:
      (fleet, { how }) =>
      () =>
        replaceDecider(fleet, how),
  },
  'key-revoked': {
    weight: 2,
    draw: (random) => ({ forMs: between(random, 1_000, 8_000), node: one(random, NODE_NAMES) }),
    begin: (fleet, { node }) => {
      const relax = press(fleet, node);
      const revoked = revokeDecider(fleet);
      return async () => {
        relax();
        await revoked;
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
    begin: (fleet, { node, validForMs, isClockBack }) => {
      const { keys, untilDone } = fleet;
      const key = keys.current('decider');
      const relax = press(fleet, node);
      const ended = (async () => {
        await keys.certify(untilDone, { key, role: 'decider', validForMs });
        if (!isClockBack) return;
        await sleep(validForMs + SURELY_ENDED_MS);
        // Whoever has read this knows that it is later.
        await keys.certify(untilDone, { key: keys.spare, role: 'decider' });
        fleet.clock(node).set(-HOUR_MS);
      })();
      return async () => {
        relax();
        await ended;
        await keys.certify(untilDone, { key, role: 'decider' });
      };
    },
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

export const revokeDecider = ({ keys, untilDone }: Fleet): Promise<void> =>
  keys.revoke(untilDone, keys.current('decider'), 0);

/** Another key for the services, which sign with it once they were started anew. */
export async function replaceDecider(fleet: Fleet, how: RestartHow): Promise<void> {
  const { keys, untilDone, restartServices } = fleet;
  await keys.certify(untilDone, { key: keys.replace('decider'), role: 'decider' });
  await restartServices(how);
}
