import { setImmediate } from 'node:timers/promises';
import { fleetCatalogue } from '../../../sim/fleet/catalogue.ts';
import { createFleetNode, type FleetNode } from '../../../sim/fleet/fleet-node.ts';
import { createFleetTime } from '../../../sim/fleet/fleet-time.ts';
import type { LifeEvent, Living } from '../../../sim/fleet/lives.ts';
import { liveBefore } from '../../../sim/fleet/past.ts';

export const EPOCH_MS = Date.UTC(2026, 0, 1);

/** A fleet whose time jumps from one timer to the next. */
export function fleetInNoTime(seed: number, untilMs: number): Living & { readonly told: LifeEvent[] } {
  const told: LifeEvent[] = [];
  const time = createFleetTime({
    rate: null,
    realNow: () => 0,
    breathe: async () => {},
    wait: async () => {
      await setImmediate();
    },
  });
  const catalogue = fleetCatalogue(seed, EPOCH_MS);
  const tell = (event: LifeEvent): void => {
    told.push(event);
  };
  return {
    cluster: 'prod',
    seed,
    time,
    epochMs: EPOCH_MS,
    catalogue,
    untilMs,
    isOver: () => false,
    tell,
    told,
  };
}

/** Nodes as their past left them. */
export const nodesOf = (living: Living, count: number): readonly FleetNode[] =>
  Array.from({ length: count }, (_, index) => {
    const node = createFleetNode(living, index);
    liveBefore(living, node);
    return node;
  });
