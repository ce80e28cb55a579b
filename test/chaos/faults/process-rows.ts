import type { Fleet } from '../fleet/fleet.ts';
import { executorOf, MACHINES, NODE_NAMES, NODE_PART_NAMES, PART_NAMES } from '../fleet/shape.ts';
import { fillUp } from '../fleet/small-filesystem.ts';
import { between, nothing, one, press, type RowsOf } from './row.ts';

/** A second, a minute, an hour, a day, a year. */
const CLOCK_STEPS_MS = [1_000, 60_000, 3_600_000, 86_400_000, 31_536_000_000];

/** A part that ends again and again is started later and later. */
const MOST_DOWN_MS = 5_000;

/** They have most to lose, so they end more often than others. */
const EXECUTORS = NODE_NAMES.map(executorOf);

/** Something comes to do for a part of a node while there is none of it, or two. */
const pressOf = (fleet: Fleet, part: string): (() => void) =>
  part.includes('/') ? press(fleet, part.slice(0, part.indexOf('/'))) : () => undefined;

/** What happens to processes and the machines that they run on. */
export const PROCESS_ROWS: RowsOf<
  'kill' | 'kill-at' | 'doubled' | 'freeze' | 'reboot' | 'clock' | 'state-full' | 'archive'
> = {
  kill: {
    weight: 8,
    draw: (random) => ({
      forMs: random() < 0.5 ? 0 : between(random, 500, MOST_DOWN_MS),
      part: one(random, [...PART_NAMES, ...EXECUTORS, ...EXECUTORS]),
    }),
    begin: (fleet, { part, forMs }) => {
      const killed = fleet.part(part);
      if (forMs === 0) {
        killed.kill();
        return nothing;
      }
      killed.killAndHold();
      const relax = pressOf(fleet, part);
      return () => {
        killed.release();
        relax();
      };
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
  doubled: {
    weight: 3,
    draw: (random) => ({
      forMs: between(random, 5_000, 12_000),
      part: one(random, [...NODE_PART_NAMES, ...EXECUTORS]),
    }),
    begin: (fleet, { part }) => {
      const another = fleet.double(part);
      const relax = pressOf(fleet, part);
      return async () => {
        relax();
        await another[Symbol.asyncDispose]();
      };
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
  reboot: {
    weight: 1,
    draw: (random) => ({ forMs: 0, node: one(random, NODE_NAMES) }),
    begin: (fleet, { node }) => {
      fleet.reboot(node);
      return nothing;
    },
  },
  clock: {
    weight: 3,
    draw: (random) => ({
      forMs: 0,
      machine: one(random, MACHINES),
      offsetMs: one(random, [1, -1]) * between(random, 1, 9) * one(random, CLOCK_STEPS_MS),
    }),
    begin: (fleet, { machine, offsetMs }) => {
      fleet.clock(machine).set(offsetMs);
      return nothing;
    },
  },
  'state-full': {
    weight: 1,
    draw: (random) => ({ forMs: between(random, 2_000, 10_000), node: one(random, NODE_NAMES) }),
    begin: (fleet, { node }) => fillUp(fleet.node(node).stateDirectory),
  },
  archive: {
    weight: 2,
    draw: (random) => ({
      forMs: between(random, 300, 3_000),
      how: one(random, ['whole', 'killed', 'killed', 'full'] as const),
    }),
    begin: async ({ archive }, { how }) => {
      const free = how === 'full' ? await archive.fill() : null;
      const pass = await archive.pass();
      return async () => {
        if (how === 'killed') pass.kill();
        await pass.ended();
        free?.();
      };
    },
  },
};
