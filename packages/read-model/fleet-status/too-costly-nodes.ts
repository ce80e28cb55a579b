import pMap from 'p-map';
import { eventType } from '../../../schemas/events/envelope.ts';
import type { DeciderName } from '../../../schemas/events/object-kinds.ts';
import { NODE_PARTITIONS } from '../../../schemas/events/topics.ts';
import type { EventLog, LogRecord } from '../../log/port.ts';
import { MINUTE_MS } from '../../process/durations.ts';
import { deciderOf, mayBeTooCostly } from '../../records/node-decisions.ts';
import { parseRecord } from '../../records/parse/parse-record.ts';
import { readPartition } from '../../records/read-log.ts';

/** A node sends an inventory every five minutes, on which every service decides. */
const LOOK_BACK_MS = 7 * MINUTE_MS;
const PARTITIONS_AT_ONCE = 8;
const PARTITIONS = Array.from({ length: NODE_PARTITIONS }, (_, partition) => partition);
const DECISION = eventType({ type: 'fleetgc.node.decision', version: 1 });

/** Deciders whose last decision of the last minutes was too costly, by `<cluster>/<node>`. Of other decisions nothing is parsed. */
export async function readTooCostlyNodes(
  log: Pick<EventLog, 'read'>,
  nowMs: number,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, ReadonlySet<DeciderName>>> {
  const found = new Map<string, Set<DeciderName>>();
  const look = async (partition: number): Promise<void> => {
    const range = { fromMs: nowMs - LOOK_BACK_MS, toMs: null };
    for await (const { record } of readPartition(log, { topics: ['decisions'], partition, range }, signal)) {
      const { key, headers } = record;
      const decider = deciderOf(record);
      if (key === null || decider === undefined || headers.ce_type !== DECISION) continue;
      if (isTooCostly(record)) found.set(key, (found.get(key) ?? new Set()).add(decider));
      else found.get(key)?.delete(decider);
    }
  };
  await pMap(PARTITIONS, look, { concurrency: PARTITIONS_AT_ONCE });
  return new Map([...found].filter(([, deciders]) => deciders.size > 0));
}

function isTooCostly(record: LogRecord): boolean {
  if (!mayBeTooCostly(record)) return false;
  const parsed = parseRecord('decisions', record);
  return parsed.ok && parsed.event.type === 'fleetgc.node.decision' && parsed.event.outcome === 'too-costly';
}
