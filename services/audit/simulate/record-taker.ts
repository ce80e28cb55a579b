import type { LogRecord } from '../../../packages/event-log/port.ts';
import { parseRecord } from '../../../packages/pipeline/parse/parse-record.ts';
import type { RecordedEvent } from '../../../packages/pipeline/read-log.ts';
import type { TopicId } from '../../../schemas/events/topics.ts';
import { createSeen } from '../verify/seen.ts';
import type { SimulatedNodeRun } from './simulated-node.ts';

/** What is read of a partition; disk statistics are many, so they are read only where a policy looks at the past. */
export const SIMULATED_TOPICS = [
  'inventory',
  'decisions',
  'results',
  'diskStats',
] as const satisfies readonly TopicId[];

/** What became of records. */
export interface ReadCounts {
  records: number;
  unreadable: number;
  inventories: number;
  incomplete: number;
}

/** Gives each record to its node, once. A node that was installed anew is another one. */
export function createRecordTaker(nodeOf: (nodeInstance: string) => SimulatedNodeRun, read: ReadCounts) {
  const seen = createSeen();
  const takeInventory = (record: LogRecord): void => {
    const parsed = parseRecord('inventory', record);
    if (!parsed.ok) {
      read.unreadable++;
      return;
    }
    const { event } = parsed;
    read.inventories++;
    if (event.status === 'complete') nodeOf(event.nodeInstance).look(event, record.timestampMs);
    else read.incomplete++;
  };
  const takeResult = (record: LogRecord): void => {
    const parsed = parseRecord('results', record);
    if (parsed.ok) nodeOf(parsed.event.nodeInstance).result(parsed.event, record.timestampMs);
    else read.unreadable++;
  };
  const takers: Record<(typeof SIMULATED_TOPICS)[number], (record: LogRecord) => void> = {
    inventory: takeInventory,
    results: takeResult,
    decisions: (record) => {
      if (record.headers.ce_type === 'fleetgc.node.pressure-unrelieved.v1') takeResult(record);
    },
    diskStats: (record) => {
      const parsed = parseRecord('diskStats', record);
      if (parsed.ok) nodeOf(parsed.event.nodeInstance).diskStats(parsed.event, record.timestampMs);
      else read.unreadable++;
    },
  };
  return ({ topicId, record }: RecordedEvent): void => {
    read.records++;
    const id = record.headers.ce_id ?? '';
    const simulated = SIMULATED_TOPICS.find((each) => each === topicId);
    if (simulated !== undefined && seen(`${record.topic} ${id}`, record).kind !== 'same')
      takers[simulated](record);
  };
}
