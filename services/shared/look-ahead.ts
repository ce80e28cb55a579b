import type { MessageReference } from '../../schemas/decision.ts';
import type { EventOf, FleetEvent } from '../../schemas/topics.ts';
import { overtakes } from './decision/overtaking.ts';
import type { LogRecord } from './event-log/port.ts';
import { topicIdOf } from './event-schemas.ts';
import { type EventHead, type HEADS, parseHead } from './parse-head.ts';
import { type ParsedRecord, parseRecord } from './parse-record.ts';

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

/** Each record by itself. */
export const readAlone: LookAhead = (record) => ({
  kind: 'read',
  record,
  parsed: parseRecord(topicIdOf(record.topic), record),
});

/**
 * Looks ahead in consecutive records of one partition for messages that later ones of their node overtake. Nothing is read before its
 * node's first turn.
 */
export function lookAhead(records: readonly LogRecord[]): LookAhead {
  const unseen = Map.groupBy(records, ({ key }) => key);
  const seen = new Map<LogRecord, Seen>();
  return (record) => {
    const topic = overtakableTopic(record);
    const ofNode = unseen.get(record.key) ?? [];
    unseen.delete(record.key);
    if (topic !== null && ofNode.length > 1)
      for (const one of lookThrough(topic, ofNode)) seen.set(one.record, one);
    const found = seen.get(record) ?? readAlone(record);
    seen.delete(record);
    return found;
  };
}

type OvertakableTopic = keyof typeof HEADS;

/** What has no key is of no node. */
function overtakableTopic({ topic, key }: LogRecord): OvertakableTopic | null {
  const id = topicIdOf(topic);
  return key !== null && (id === 'inventory' || id === 'diskStats') ? id : null;
}

/** A message that was read whole and is decided on. */
interface Newer {
  readonly event: EventOf<OvertakableTopic>;
  readonly reference: MessageReference;
}

/** From the newest back: each is overtaken by the newest of those behind it that can, or read. */
function lookThrough(topic: OvertakableTopic, records: readonly LogRecord[]): readonly Seen[] {
  const newest: Newer[] = [];
  return records.toReversed().map((record) => {
    const overtaken = newest.length === 0 ? null : overtakenBy(newest, topic, record);
    if (overtaken !== null) return overtaken;
    const parsed = parseRecord(topic, record);
    if (parsed.ok) newest.push({ event: parsed.event, reference: referenceTo(record, parsed.event) });
    return { kind: 'read', record, parsed };
  });
}

function overtakenBy(newest: readonly Newer[], topic: OvertakableTopic, record: LogRecord): Overtaken | null {
  const head = parseHead(topic, record);
  const newer = head && newest.find(({ event }) => overtakes(event, head));
  return newer ? { kind: 'overtaken', record, head, overtakenBy: newer.reference } : null;
}

const referenceTo = ({ topic, partition, offset }: LogRecord, { id }: Newer['event']): MessageReference => ({
  topic,
  partition,
  offset: String(offset),
  id,
});
