import { setImmediate } from 'node:timers/promises';
import { fleetCatalogue } from '../../../../lab/sim/fleet/catalogue.ts';
import { createFleetTime } from '../../../../lab/sim/fleet/fleet-time.ts';
import { createFleetNode, type FleetNode } from '../../../../lab/sim/fleet/node.ts';
import { type BusyFleet, setInitialState, type WorkloadEvent } from '../../../../lab/sim/fleet/workload.ts';

export const EPOCH_MS = Date.UTC(2026, 0, 1);

/** A fleet whose time jumps from one timer to the next. */
export function fleetInNoTime(
  seed: number,
  untilMs: number,
): BusyFleet & { readonly reported: WorkloadEvent[] } {
  const reported: WorkloadEvent[] = [];
  const time = createFleetTime({
    rate: null,
    realNow: () => 0,
    yieldToEventLoop: async () => {},
    wait: async () => {
      await setImmediate();
    },
  });
  const catalogue = fleetCatalogue(seed, EPOCH_MS);
  const report = (event: WorkloadEvent): void => {
    reported.push(event);
  };
  return {
    cluster: 'prod',
    seed,
    time,
    epochMs: EPOCH_MS,
    catalogue,
    untilMs,
    isOver: () => false,
    report,
    reported,
  };
}

/** Nodes as their past left them. */
export const nodesOf = (busyFleet: BusyFleet, count: number): readonly FleetNode[] =>
  Array.from({ length: count }, (_, index) => {
    const node = createFleetNode(busyFleet, index);
    setInitialState(busyFleet, node);
    return node;
  });
