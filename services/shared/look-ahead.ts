import type { MessageReference } from '../../schemas/decision.ts';
import type { Inventory, InventoryHead } from '../../schemas/inventory.ts';
import { type FleetEvent, TOPICS } from '../../schemas/topics.ts';
import { overtakes } from './decision/overtaking.ts';
import type { LogRecord } from './event-log/port.ts';
import { topicIdOf } from './event-schemas.ts';
import { type ParsedRecord, parseInventoryHead, parseRecord } from './parse-record.ts';

/** An inventory that is to be passed over, and the newer one. */
export interface Overtaken {
  readonly kind: 'overtaken';
  readonly record: LogRecord;
  readonly head: InventoryHead;
  readonly overtakenBy: MessageReference;
}

/** What a record is: one that is passed over, or one that was read whole, once. */
export type Seen =
  | Overtaken
  | { readonly kind: 'read'; readonly record: LogRecord; readonly parsed: ParsedRecord<FleetEvent> };

/** Tells what a record of the slice is; asked once for each, in their order. */
export type LookAhead = (record: LogRecord) => Seen;

/** Each record by itself. */
export const readAlone: LookAhead = (record) => ({
  kind: 'read',
  record,
  parsed: parseRecord(topicIdOf(record.topic), record),
});

/**
 * Looks ahead in consecutive records of one partition for inventories that later ones of their node overtake. Nothing is read before
 * its node's first turn.
 */
export function lookAhead(records: readonly LogRecord[]): LookAhead {
  const unseen = Map.groupBy(records, ({ key }) => key);
  const seen = new Map<LogRecord, Seen>();
  return (record) => {
    const ofNode = unseen.get(record.key) ?? [];
    unseen.delete(record.key);
    if (isOfNode(record) && ofNode.length > 1)
      for (const one of lookThrough(ofNode)) seen.set(one.record, one);
    const found = seen.get(record) ?? readAlone(record);
    seen.delete(record);
    return found;
  };
}

const isOfNode = ({ topic, key }: LogRecord): boolean => topic === TOPICS.inventory.name && key !== null;

/** An inventory that was read whole and is decided on. */
interface Newer {
  readonly event: Inventory;
  readonly reference: MessageReference;
}

/** From the newest back: each is overtaken by the newest of those behind it that can, or read. */
function lookThrough(records: readonly LogRecord[]): readonly Seen[] {
  const newest: Newer[] = [];
  return records.toReversed().map((record) => {
    const overtaken = newest.length === 0 ? null : overtakenBy(newest, record);
    if (overtaken !== null) return overtaken;
    const parsed = parseRecord('inventory', record);
    if (parsed.ok) newest.push({ event: parsed.event, reference: referenceTo(record, parsed.event) });
    return { kind: 'read', record, parsed };
  });
}

function overtakenBy(newest: readonly Newer[], record: LogRecord): Overtaken | null {
  const head = parseInventoryHead(record);
  const newer = head && newest.find(({ event }) => overtakes(event, head));
  return newer ? { kind: 'overtaken', record, head, overtakenBy: newer.reference } : null;
}

const referenceTo = ({ topic, partition, offset }: LogRecord, { id }: Inventory): MessageReference => ({
  topic,
  partition,
  offset: String(offset),
  id,
});
