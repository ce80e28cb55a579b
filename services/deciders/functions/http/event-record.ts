import type { LogRecord } from '../../../../packages/log/port.ts';
import { topicIdOf } from '../../../../packages/records/parse/event-schemas.ts';
import { parseJson } from '../../../../packages/records/parse/parse-record.ts';
import { ClusterIdentity, NodeIdentity, SUBJECTS } from '../../../../schemas/events/identity.ts';
import { TOPICS, type TopicId } from '../../../../schemas/events/topics.ts';
import { type Attributes, POSITION_ATTRIBUTES, positionOf } from './position.ts';
import type { ProblemKind } from './problem-types.ts';

/** A CloudEvent as it came, in whatever mode. */
export interface ReceivedEvent {
  readonly attributes: Attributes;
  /** As they lie on the event log. */
  readonly data: Buffer;
}

export interface ReadRecord {
  readonly ok: true;
  readonly record: LogRecord;
  /** Its key came beside it; else what it says of itself has to be its key. */
  readonly tellsKey: boolean;
}

/** An event as the record of the event log that it was made of, or why it is none. */
export type RecordReading =
  | ReadRecord
  | { readonly ok: false; readonly id: string | null; readonly kind: ProblemKind; readonly detail: string };

/** More than a record of ours has, and those of whoever passes it on. */
export const MOST_ATTRIBUTES = 100;
const NAME = /^[a-z0-9]{1,64}$/;
/** CloudEvents has no control characters and no halves of characters in attributes. */
const NO_TEXT = /[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]/u;
const HEADERS_WITHOUT_PREFIX: ReadonlyMap<string, string> = new Map([
  ['datacontenttype', 'content-type'],
  ['traceparent', 'traceparent'],
  ['tracestate', 'tracestate'],
]);

/** `nowMs`: when it came; nobody here proves when the log took it. */
export function recordOf(
  { attributes, data }: ReceivedEvent,
  { topics, nowMs }: { readonly topics: readonly TopicId[]; readonly nowMs: number },
): RecordReading {
  const id = attributes.get('id') ?? null;
  const no = (kind: ProblemKind, detail: string): RecordReading => ({ ok: false, id, kind, detail });
  if (attributes.size > MOST_ATTRIBUTES)
    return no('bad-attribute', `it has more than ${MOST_ATTRIBUTES} attributes`);
  const bad = [...attributes.keys()].find((name) => !NAME.test(name));
  if (bad !== undefined)
    return no('bad-attribute', 'the name of an attribute is not of lower-case letters and digits alone');
  if ([...attributes.values()].some((text) => NO_TEXT.test(text)))
    return no('bad-attribute', 'the value of an attribute has a control character or half a character');
  if (attributes.get('specversion') !== '1.0')
    return no('no-cloud-event', 'it is no CloudEvent of version 1.0');
  const position = positionOf(attributes, topics);
  if ('kind' in position) return no(position.kind, position.detail);
  const record: LogRecord = {
    ...position,
    key: attributes.get('partitionkey') ?? null,
    value: data,
    headers: headersOf(attributes),
    timestampMs: nowMs,
    isDatedByWriter: true,
  };
  return { ok: true, record, tellsKey: record.key !== null };
}

function headersOf(attributes: Attributes): Readonly<Record<string, string>> {
  const own = [...attributes].filter(([name]) => !POSITION_ATTRIBUTES.has(name));
  return Object.fromEntries(
    own.map(([name, text]) => [
      HEADERS_WITHOUT_PREFIX.get(name) ?? `ce_${name}`,
      name === 'datacontenttype' ? plainJsonType(text) : text,
    ]),
  );
}

/** Whoever passes it on may say that JSON is UTF-8, as it always is. */
const plainJsonType = (text: string): string =>
  /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i.test(text) ? 'application/json' : text;

/**
 * KafkaSource does not tell the key. What an event says of itself has to be its key; a signature is over it. Whatever else the event says
 * is read once it is believed.
 */
export function withOwnKey(record: LogRecord): LogRecord {
  const json = parseJson(record.topic, record.value);
  return json.ok ? { ...record, key: keyWithin(topicIdOf(record.topic), json.event) } : record;
}

const NodeKey = NodeIdentity.pick({ cluster: true, node: true }).transform(SUBJECTS.node.keyOf);
const ClusterKey = ClusterIdentity.pick({ cluster: true }).transform(SUBJECTS.cluster.keyOf);

function keyWithin(topic: TopicId, event: unknown): string | null {
  switch (TOPICS[topic].key) {
    case 'node':
      return NodeKey.safeParse(event).data ?? null;
    case 'cluster':
      return ClusterKey.safeParse(event).data ?? null;
    default:
      return null;
  }
}
