import type { Random } from '../../../services/simulator/random.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { POLICY_IDS } from '../fleet/policies.ts';
import { CLIENTS, NODE_NAMES, PART_NAMES } from '../fleet/shape.ts';
import { METHODS } from '../simulated/messages.ts';
import { Fault, type FaultKind, type FaultOf } from './fault.ts';

type Drawn<Kind extends FaultKind> = Omit<FaultOf<Kind>, 'atMs' | 'kind'>;
type End = () => Promise<void> | void;

/** How a fault is made up, and what it does to a fleet. */
export interface FaultRow<Kind extends FaultKind> {
  /** How often it comes, beside the others. */
  readonly weight: number;
  readonly draw: (random: Random) => Drawn<Kind>;
  /** Resolves to what ends it; the player calls that after `forMs`. */
  readonly begin: (fleet: Fleet, fault: FaultOf<Kind>) => Promise<End> | End;
}

export const one = <T>(random: Random, items: readonly T[]): T => {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new RangeError('there is nothing to choose from');
  return item;
};
export const between = (random: Random, least: number, most: number): number =>
  Math.round(least + random() * (most - least));

const nothing: End = () => undefined;

export const FAULTS: { readonly [Kind in FaultKind]: FaultRow<Kind> } = {
  kill: {
    weight: 8,
    draw: (random) => ({ forMs: 0, part: one(random, PART_NAMES) }),
    begin: (fleet, { part }) => {
      fleet.part(part).kill();
      return nothing;
    },
  },
  freeze: {
    weight: 3,
    draw: (random) => ({ forMs: between(random, 500, 15_000), part: one(random, PART_NAMES) }),
    begin: (fleet, { part }) => {
      fleet.part(part).freeze();
      return () => fleet.part(part).thaw();
    },
  },
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
  network: {
    weight: 4,
    draw: (random) => ({
      forMs: between(random, 1_000, 10_000),
      client: one(random, CLIENTS),
      trouble: one(random, [
        { how: 'silent' },
        { how: 'slow', delayMs: between(random, 50, 1_500) },
        { how: 'cut', afterBytes: between(random, 1, 400) },
      ] as const),
    }),
    begin: ({ broker }, { client, trouble }) => broker.proxy.trouble(client, trouble),
  },
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
  reboot: {
    weight: 1,
    draw: (random) => ({ forMs: 0, node: one(random, NODE_NAMES) }),
    begin: (fleet, { node }) => {
      fleet.reboot(node);
      return nothing;
    },
  },
};

/** Makes a fault up. */
export const drawFault = (random: Random, kind: FaultKind, atMs: number): Fault =>
  Fault.parse({ ...FAULTS[kind].draw(random), kind, atMs });
