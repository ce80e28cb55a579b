import { TOPIC_NAMES } from '../../../packages/log/partition.ts';
import { deleteTopics, forgetOffsets } from '../broker/topics.ts';
import type { Grounds } from '../fleet/grounds.ts';
import { type Shape, serviceNamesOf } from '../fleet/shape.ts';
import { between, type CommonRowsOf, nothing, one } from './row.ts';

type Kinds = 'broker-killed' | 'broker-frozen' | 'broker-full' | 'network' | 'topic-anew' | 'offsets-lost';

/** What happens to the broker, the way to it, and what it keeps. */
export const brokerRows = ({ services, clients }: Shape): CommonRowsOf<Grounds, Kinds> => ({
  'broker-killed': {
    weight: 1,
    draw: (random) => ({ forMs: between(random, 0, 3_000) }),
    begin: ({ broker }) => broker.outage('killed'),
  },
  'broker-frozen': {
    weight: 1,
    draw: (random) => ({ forMs: between(random, 1_000, 8_000) }),
    begin: ({ broker }) => broker.outage('frozen'),
  },
  'broker-full': {
    weight: 1,
    draw: (random) => ({ forMs: between(random, 1_000, 6_000) }),
    begin: ({ broker }) => broker.outage('full'),
  },
  network: {
    weight: 4,
    draw: (random) => ({
      forMs: between(random, 1_000, 10_000),
      client: one(random, clients),
      trouble: one(random, [
        { how: 'silent' },
        { how: 'slow', delayMs: between(random, 50, 1_500) },
        { how: 'cut', afterBytes: between(random, 1, 400) },
      ] as const),
    }),
    begin: ({ broker }, { client, trouble }) => broker.proxy.trouble(client, trouble),
  },
  'topic-anew': {
    weight: 1,
    draw: (random) => ({ forMs: between(random, 0, 2_000), topic: one(random, TOPIC_NAMES) }),
    begin: ({ broker, operator }, { topic }) =>
      broker.inTurn(async () => {
        await deleteTopics(broker.address, [topic]);
        return () => operator.restore(topic);
      }),
  },
  'offsets-lost': {
    weight: 1,
    draw: (random) => ({ forMs: 0, service: one(random, serviceNamesOf({ services })) }),
    begin: ({ broker, parts }, { service }) =>
      broker.inTurn(async () => {
        const replicas = parts.filter(({ name }) => services[name] === service);
        await Promise.all(replicas.map((replica) => replica.hold()));
        await forgetOffsets(broker.address, `fleetgc-${service}`);
        for (const replica of replicas) replica.release();
        return nothing;
      }),
  },
});
