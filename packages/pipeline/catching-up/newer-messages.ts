import type { MessageReference } from '../../../schemas/events/decision.ts';
import { DiskStatsHead } from '../../../schemas/events/disk-stats.ts';
import { InventoryHead } from '../../../schemas/events/inventory.ts';
import type { EventOf } from '../../../schemas/events/topics.ts';
import { type EventHead, type NewerEvent, overtakes } from '../../decision/overtaking.ts';
import type { LogRecord } from '../../event-log/port.ts';
import { topicIdOf } from '../parse/event-schemas.ts';
import type { HEADS } from '../parse/parse-head.ts';

export type OvertakableTopic = keyof typeof HEADS;

/** A message that was read whole, as much of it as it takes to say what it overtakes. */
export interface Newer {
  readonly event: NewerEvent;
  readonly reference: MessageReference;
}

/** The topic of a record that can be overtaken. What has no key is of no node. */
export function overtakableTopic({ topic, key }: Pick<LogRecord, 'topic' | 'key'>): OvertakableTopic | null {
  const id = topicIdOf(topic);
  return key !== null && (id === 'inventory' || id === 'diskStats') ? id : null;
}

/** Without its lists, which are not to be remembered. */
export const withoutLists = (event: EventOf<OvertakableTopic>): NewerEvent =>
  event.type === 'fleetgc.node.inventory'
    ? { ...InventoryHead.parse(event), status: event.status }
    : DiskStatsHead.parse(event);

export const newerOf = ({ topic, partition, offset }: LogRecord, event: NewerEvent): Newer => ({
  event,
  reference: { topic, partition, offset: String(offset), id: event.id },
});

/** The first of them that lies behind the record and overtakes it. */
export const firstToOvertake = (
  newer: readonly Newer[],
  { offset }: LogRecord,
  head: EventHead,
): Newer | undefined =>
  newer.find(({ event, reference }) => BigInt(reference.offset) > offset && overtakes(event, head));
