import type { Decision } from '../../../schemas/events/decision.ts';
import { nodeKey } from '../../../schemas/events/identity.ts';
import type { FleetLog } from './fleet/fleet-log.ts';

/** How long one inventory waited for one decider, by the log's own clock. */
export interface Wait {
  readonly inventoryId: string;
  /** `<cluster>/<node>` */
  readonly node: string;
  readonly partition: number;
  /** `null` while it is not decided. */
  readonly waitedMs: number | null;
}

/** The wait of every inventory on the log, by the first decision that the decider recorded on it. */
export function waitsFor(log: FleetLog, decider: Decision['decider']['name']): readonly Wait[] {
  const decidedAtMs = new Map<string, number>();
  for (const { event, record } of log.seen('decisions').toReversed())
    if (event.type === 'fleetgc.node.decision' && event.decider.name === decider)
      decidedAtMs.set(event.input.id, record.timestampMs);
  return log.seen('inventory').map(({ event, record }) => {
    const atMs = decidedAtMs.get(event.id);
    return {
      inventoryId: event.id,
      node: nodeKey(event),
      partition: record.partition,
      waitedMs: atMs === undefined ? null : atMs - record.timestampMs,
    };
  });
}

export const longest = (waits: readonly Wait[]): number =>
  Math.max(0, ...waits.map(({ waitedMs }) => waitedMs ?? Number.POSITIVE_INFINITY));
