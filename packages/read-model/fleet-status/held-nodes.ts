import pMap from 'p-map';
import { nodeKey } from '../../../schemas/events/identity.ts';
import type { CommandResult } from '../../../schemas/events/result.ts';
import { NODE_PARTITIONS } from '../../../schemas/events/topics.ts';
import type { EventLog } from '../../log/port.ts';
import { MINUTE_MS } from '../../process/durations.ts';
import { parseRecord } from '../../records/parse/parse-record.ts';
import { readPartition } from '../../records/read-log.ts';

const LOOK_BACK_MS = 15 * MINUTE_MS;
const PARTITIONS_AT_ONCE = 8;
const PARTITIONS = Array.from({ length: NODE_PARTITIONS }, (_, partition) => partition);

/**
 * Why the last command of the last minutes was refused as `held`, by `<cluster>/<node>`. Of a node that nobody commanded
 * meanwhile the log tells nothing.
 */
export async function readHeldNodes(
  log: Pick<EventLog, 'read'>,
  nowMs: number,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const held = new Map<string, string>();
  const look = async (partition: number): Promise<void> => {
    const range = { fromMs: nowMs - LOOK_BACK_MS, toMs: null };
    for await (const { record } of readPartition(log, { topics: ['results'], partition, range }, signal)) {
      const parsed = parseRecord('results', record);
      if (parsed.ok && parsed.event.type === 'fleetgc.node.command-result') note(held, parsed.event);
    }
  };
  await pMap(PARTITIONS, look, { concurrency: PARTITIONS_AT_ONCE });
  return held;
}

function note(held: Map<string, string>, reported: CommandResult): void {
  const { result } = reported;
  if (result.outcome === 'refused' && result.reason === 'held')
    held.set(nodeKey(reported), result.message.replaceAll(/\s+/g, ' '));
  else held.delete(nodeKey(reported));
}
