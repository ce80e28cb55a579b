import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import type { EventLog } from '../../log/port.ts';
import { parseRecord } from '../../records/parse/parse-record.ts';
import { firstRecord } from '../../records/read-log.ts';
import type { InventoryPlace } from '../projection/store.ts';

/** What a node told last of all that is on it, and when the log got it. */
export interface NewestInventory {
  readonly atMs: number;
  readonly inventory: CompleteInventory;
}

/** Reads the one record where it lies; `null` where the log has it no more. */
export async function newestInventory(
  log: Pick<EventLog, 'read'>,
  { node, partition, offset }: InventoryPlace,
  signal: AbortSignal,
): Promise<NewestInventory | null> {
  const request = { topic: TOPICS.inventory.name, partition, from: { offset } } as const;
  const record = await firstRecord(log, request, signal);
  if (record === null || record.offset !== offset || record.key !== node) return null;
  const parsed = parseRecord('inventory', record);
  if (!parsed.ok || parsed.event.status !== 'complete') return null;
  return { atMs: record.timestampMs, inventory: parsed.event };
}
