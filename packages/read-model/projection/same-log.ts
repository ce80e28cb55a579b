import { TOPICS } from '../../../schemas/events/topics.ts';
import type { EventLog } from '../../log/port.ts';
import { firstRecord } from '../../records/read-log.ts';
import type { InventoryPlace } from './store.ts';

/**
 * Whether a record that is known still lies where it was. Where topics were made anew while nobody looked, something else is there,
 * or nothing yet. What retention has deleted tells nothing, and neither does a projection that knows no record.
 */
export async function isSameLog(
  log: Pick<EventLog, 'read'>,
  known: InventoryPlace | null,
  { nowMs, signal }: { readonly nowMs: number; readonly signal: AbortSignal },
): Promise<boolean> {
  if (known === null || nowMs - known.atMs > TOPICS.inventory.retentionMs) return true;
  const { node, atMs, offset, partition } = known;
  const found = await firstRecord(log, { topic: TOPICS.inventory.name, partition, from: { offset } }, signal);
  if (found === null) return false;
  return found.offset > offset || (found.key === node && found.timestampMs === atMs);
}
