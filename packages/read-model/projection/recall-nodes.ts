import type { EventLog, LogRecord } from '../../log/port.ts';
import { readReportingNodes } from '../fleet-status/reporting-nodes.ts';
import type { FactTrust } from './fact-trust.ts';
import type { Fleet } from './fleet.ts';
import type { FleetPlaces } from './places.ts';
import { PROJECT } from './project.ts';
import type { Projector } from './projector.ts';

interface RecallNeeds {
  readonly log: Pick<EventLog, 'read'>;
  readonly fleet: Fleet;
  readonly projector: Projector;
  readonly places: FleetPlaces;
  readonly trust: Pick<FactTrust, 'believes'>;
  readonly nowMs: number;
}

/** Nodes that fell silent are not heard again: they are looked for as `fleetgc nodes` does. */
export async function recallNodes(
  { log, fleet, projector, places, trust, nowMs }: RecallNeeds,
  signal: AbortSignal,
): Promise<void> {
  const isKnown = (key: string): boolean => fleet.has(key);
  const isBelieved = (record: LogRecord): boolean => trust.believes('diskStats', record);
  const admits = (key: string, heardMs: number): boolean => places.node.admits(key, heardMs);
  const { nodes, unreadable } = await readReportingNodes(
    { log, nowMs, onProgress: () => undefined, isKnown, isBelieved, admits },
    signal,
  );
  fleet.unreadable += unreadable;
  for (const node of nodes.values()) {
    fleet.recalled(node);
    const { stats, track, offset } = node;
    projector.put(PROJECT.diskStats(stats, { timestampMs: track.last.loggedAtMs, offset }));
  }
}
