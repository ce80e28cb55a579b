import type { MessageReference } from '../../../schemas/events/decision-parts.ts';
import { DiskStatsHead } from '../../../schemas/events/disk-stats.ts';
import { InventoryHead } from '../../../schemas/events/inventory.ts';
import type { EventOf, FleetEvent } from '../../../schemas/events/topics.ts';
import { type EventHead, type NewerEvent, overtakes } from '../../decision/overtaking.ts';
import type { LogRecord } from '../../log/port.ts';
import { topicIdOf } from '../parse/event-schemas.ts';
import type { ParseRecord } from '../parse/parse-believed.ts';
import { type HEADS, parseHead } from '../parse/parse-head.ts';
import type { ParsedRecord } from '../parse/parse-record.ts';

/** A message that is to be passed over, and the newer one. */
export interface Overtaken {
  readonly kind: 'overtaken';
  readonly record: LogRecord;
  readonly head: EventHead;
  readonly overtakenBy: MessageReference;
}

/** What a record is: one that is passed over, or one that was read whole, once. */
export type Seen =
  | Overtaken
  | { readonly kind: 'read'; readonly record: LogRecord; readonly parsed: ParsedRecord<FleetEvent> };

/** Tells what a record of the slice is; asked once for each, in their order. */
export type LookAhead = (record: LogRecord) => Seen;

/** What is known to lie behind a slice in its partition, by key. */
export type Ahead = (key: string | null) => Newer | null;

export const NOTHING_AHEAD: Ahead = () => null;

/** Each record by itself. */
export const readAlone =
  (parse: ParseRecord): LookAhead =>
  (record) => ({ kind: 'read', record, parsed: parse(topicIdOf(record.topic), record) });

/**
 * Looks in consecutive records of one partition for messages that later ones of their node overtake, in the slice or ahead of it.
 * Nothing is read before its node's first turn.
 */
export function lookAhead(
  records: readonly LogRecord[],
  parse: ParseRecord,
  ahead: Ahead = NOTHING_AHEAD,
): LookAhead {
  const unseen = Map.groupBy(records, ({ key }) => key);
  const seen = new Map<LogRecord, Seen>();
  return (record) => {
    const topic = overtakableTopic(record);
    const ofNode = unseen.get(record.key) ?? [];
    unseen.delete(record.key);
    const far = ahead(record.key);
    if (topic !== null && (ofNode.length > 1 || far !== null))
      for (const one of lookThrough(topic, ofNode, { parse, far })) seen.set(one.record, one);
    const found = seen.get(record) ?? readAlone(parse)(record);
    seen.delete(record);
    return found;
  };
}

interface Looking {
  readonly parse: ParseRecord;
  /** The newest that lies behind these records. */
  readonly far: Newer | null;
}

/**
 * From the newest back: each is overtaken by the newest of those behind it that can, or read. Where by their heads none can
 * overtake another, nothing is said: to read them all at once would only hold them in memory until their turns.
 */
function lookThrough(
  topic: OvertakableTopic,
  records: readonly LogRecord[],
  { parse, far }: Looking,
): readonly Seen[] {
  const heads = records.map((record) => ({ record, head: parseHead(topic, record) })).toReversed();
  if (!mayOvertake(heads, far)) return [];
  const newest: Newer[] = far === null ? [] : [far];
  return heads.map((head) => {
    const overtaken = overtakenBy(newest, head);
    if (overtaken !== null) return overtaken;
    const { record } = head;
    const parsed = parse(topic, record);
    if (parsed.ok) newest.push(newerOf(record, parsed.event));
    return { kind: 'read', record, parsed };
  });
}

interface RecordHead {
  readonly record: LogRecord;
  /** `null` where it cannot be told. */
  readonly head: EventHead | null;
}

function mayOvertake(newestFirst: readonly RecordHead[], far: Newer | null): boolean {
  const newer: NewerEvent[] = far === null ? [] : [far.event];
  for (const { head } of newestFirst) {
    if (head === null || newer.some((event) => overtakes(event, head))) return true;
    newer.push(head.type === 'fleetgc.node.inventory' ? { ...head, status: 'complete' } : head);
  }
  return false;
}

function overtakenBy(newest: readonly Newer[], { record, head }: RecordHead): Overtaken | null {
  const newer = head && firstToOvertake(newest, record, head);
  return newer ? { kind: 'overtaken', record, head, overtakenBy: newer.reference } : null;
}

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
const firstToOvertake = (
  newer: readonly Newer[],
  { offset }: LogRecord,
  head: EventHead,
): Newer | undefined =>
  newer.find(({ event, reference }) => BigInt(reference.offset) > offset && overtakes(event, head));
