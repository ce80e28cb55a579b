import pMap from 'p-map';
import { nodeKey } from '../../../schemas/events/identity.ts';
import { UNRELIEVED_FOR_MS } from '../../fleet-watch/node-pressure.ts';
import type { EventLog } from '../../log/port.ts';
import { parseRecord } from '../../records/parse/parse-record.ts';
import { readPartition } from '../../records/read-log.ts';

const PARTITIONS_AT_ONCE = 8;
/** Of all records but these nothing is parsed: decisions are the largest part of a log. */
const UNRELIEVED = 'fleetgc.node.pressure-unrelieved.v1';

interface Range {
  /** Where the nodes under pressure report: of no other partition anything is read. */
  readonly partitions: readonly number[];
  /** Epoch milliseconds. */
  readonly nowMs: number;
}

/** When a reclaim of the last minutes ended above its target, by `<cluster>/<node>`: epoch milliseconds by the log's clock. */
export async function readUnrelieved(
  log: Pick<EventLog, 'read'>,
  { partitions, nowMs }: Range,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  const read = async (partition: number): Promise<void> => {
    const range = { fromMs: nowMs - UNRELIEVED_FOR_MS, toMs: null };
    const reading = { topics: ['results', 'decisions'], partition, range } as const;
    for await (const { topicId, record } of readPartition(log, reading, signal)) {
      if (record.headers.ce_type !== UNRELIEVED) continue;
      const parsed = parseRecord(topicId, record);
      if (!parsed.ok || parsed.event.type !== 'fleetgc.node.pressure-unrelieved') continue;
      const key = nodeKey(parsed.event);
      found.set(key, Math.max(record.timestampMs, found.get(key) ?? 0));
    }
  };
  await pMap(partitions, read, { concurrency: PARTITIONS_AT_ONCE });
  return found;
}
