import { isUtf8 } from 'node:buffer';
import { DiskStatsHead } from '../../../schemas/events/disk-stats.ts';
import { nodeKey } from '../../../schemas/events/identity.ts';
import { InventoryHead } from '../../../schemas/events/inventory.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import type { EventHead } from '../../decision/overtaking.ts';
import type { LogRecord } from '../../event-log/port.ts';
import { authenticate, maySpeak } from './authenticate.ts';
import { jsonBeginning } from './json-beginning.ts';
import { disagreement } from './parse-record.ts';

/**
 * The events that can be passed over, by topic: as much of each as it takes to know whether. Audit reads old events by it too, so it
 * asks for nothing that they lack.
 */
export const HEADS = { inventory: InventoryHead, diskStats: DiskStatsHead } as const;

/** Agents write what is asked for first; what does not begin with it is read whole. */
const HEAD_BYTES = 16 * 1024;

/**
 * The beginning of an event, for a small part of what it takes to parse the whole: its lists are not looked at. `null` where it
 * cannot be told, and then `parseRecord` says what the record is.
 */
export function parseHead(topic: keyof typeof HEADS, record: LogRecord): EventHead | null {
  const { value, headers, key } = record;
  if (!maySpeak(authenticate(value, headers), topic, key)) return null;
  if (value === null || value.length > TOPICS[topic].bounds.bytes || !isUtf8(value)) return null;
  const head = HEADS[topic];
  const beginning = jsonBeginning(value.toString('utf8', 0, HEAD_BYTES), Object.keys(head.shape));
  const { data } = head.safeParse(beginning);
  return data === undefined || disagreement(nodeKey(data), data, record) ? null : data;
}
