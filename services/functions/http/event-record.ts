import type { LogRecord } from '../../../packages/event-log/port.ts';
import { topicIdOf } from '../../../packages/pipeline/parse/event-schemas.ts';
import { parseJson, parseValue } from '../../../packages/pipeline/parse/parse-record.ts';
import { keyOf } from '../../../packages/pipeline/parse/record-key.ts';
import type { TopicId } from '../../../schemas/events/topics.ts';
import { type Attributes, POSITION_ATTRIBUTES, positionOf } from './position.ts';

/** A CloudEvent as it came, in whatever mode. */
export interface ReceivedEvent {
  readonly attributes: Attributes;
  /** As they lie on the event log. */
  readonly data: Buffer;
}

/** An event as the record of the event log that it was made of, or why it is none. */
export type RecordReading =
  | { readonly ok: true; readonly record: LogRecord }
  | { readonly ok: false; readonly id: string | null; readonly kind: string; readonly detail: string };

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
  const no = (kind: string, detail: string): RecordReading => ({ ok: false, id, kind, detail });
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
  if (typeof position === 'string') return no('no-position', position);
  const record: LogRecord = {
    ...position,
    key: attributes.get('partitionkey') ?? null,
    value: data,
    headers: headersOf(attributes),
    timestampMs: nowMs,
    isDatedByWriter: true,
  };
  return { ok: true, record: attributes.has('partitionkey') ? record : withOwnKey(record) };
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

/** KafkaSource does not tell the key. What an event says of itself has to be its key; a signature is over it. */
function withOwnKey(record: LogRecord): LogRecord {
  const topic = topicIdOf(record.topic);
  const json = parseJson(record.topic, record.value);
  const parsed = json.ok ? parseValue(topic, json.event) : json;
  return parsed.ok ? { ...record, key: keyOf(topic, parsed.event) } : record;
}
