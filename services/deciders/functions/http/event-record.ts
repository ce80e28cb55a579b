import { logicalName } from '../../../../packages/log/kafka/client/names.ts';
import type { LogRecord } from '../../../../packages/log/port.ts';
import { EVENT_SCHEMAS, parseJson, topicIdOf } from '../../../../packages/records/parse/parse-record.ts';
import { ClusterIdentity, NodeIdentity, SUBJECTS } from '../../../../schemas/events/identity.ts';
import { isOffsetText } from '../../../../schemas/events/offset-text.ts';
import { TOPICS, type TopicId, type TopicName } from '../../../../schemas/events/topics.ts';
import { type ProblemKind, type Refused, refused } from './problem.ts';

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

interface Reading {
  readonly topics: readonly TopicId[];
  /** In front of the names of topics on the brokers; empty: none. */
  readonly prefix: string;
  /** When it came; nobody here proves when the log took it. */
  readonly nowMs: number;
}

export function recordOf({ attributes, data }: ReceivedEvent, reading: Reading): RecordReading {
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
  const position = positionOf(attributes, reading);
  if ('kind' in position) return no(position.kind, position.detail);
  const record: LogRecord = {
    ...position,
    key: attributes.get('partitionkey') ?? null,
    value: data,
    headers: headersOf(attributes),
    timestampMs: reading.nowMs,
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

const PREFIX = 'ce-';
/** Headers of HTTP that say of an event what its attributes would. */
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ['content-type', 'datacontenttype'],
  ['traceparent', 'traceparent'],
  ['tracestate', 'tracestate'],
]);

/** The attributes that stand in the headers of a request in binary mode. `rawHeaders`: names and values by turns, as they came. */
export function attributesOfHeaders(rawHeaders: readonly string[]): Attributes | Refused {
  const headers = headersIn(rawHeaders).filter(
    ({ name }) => name.startsWith(PREFIX) || OTHER_NAMES.has(name),
  );
  const names = headers.map(({ name }) => name);
  const doubled = names.find((name, index) => names.indexOf(name) !== index);
  if (doubled !== undefined) return refused('bad-attribute', `the header ${doubled} stands there twice`);
  const bad = headers.find(({ text }) => text === null);
  if (bad !== undefined)
    return refused('bad-attribute', `the value of ${bad.name} is not encoded as CloudEvents has it`);
  if (names.includes('ce-datacontenttype'))
    return refused('bad-attribute', 'in binary mode Content-Type says what the data is, and no attribute');
  // What an attribute says of a trace is of the event, and what a header says of this request.
  const inOrder = headers.toSorted(
    (a, b) => Number(OTHER_NAMES.has(b.name)) - Number(OTHER_NAMES.has(a.name)),
  );
  return new Map(
    inOrder.map(({ name, text }) => [OTHER_NAMES.get(name) ?? name.slice(PREFIX.length), text ?? '']),
  );
}

interface Header {
  /** In lower case. */
  readonly name: string;
  /** `null` where it is not encoded as it has to be. */
  readonly text: string | null;
}

const headersIn = (rawHeaders: readonly string[]): readonly Header[] =>
  rawHeaders.flatMap((name, index) =>
    index % 2 === 0 ? [{ name: name.toLowerCase(), text: decoded(rawHeaders[index + 1] ?? '') }] : [],
  );

/** Percent-encoded UTF-8; `null` for what is not. */
function decoded(text: string): string | null {
  if (!/^[\x20-\x7e]*$/.test(text)) return null;
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** What CloudEvents has encoded in headers: space, quote, percent, and all that is not printable ASCII. */
export const encodedHeader = (text: string): string =>
  text.replace(/[^\x21\x23\x24\x26-\x7e]+/gu, (part) => encodeURIComponent(part));

/** The attributes of a CloudEvent by their names; all values as text. */
type Attributes = ReadonlyMap<string, string>;

/** Where an event lies on the event log. */
interface Position {
  readonly topic: TopicName;
  readonly partition: number;
  readonly offset: bigint;
}

/** What an event of KafkaSource is called that is no CloudEvent on the topic. */
const KNATIVE_OTHER_TYPE = 'dev.knative.kafka.event';
/** Those of a position are no headers of the record. */
const POSITION_ATTRIBUTES: ReadonlySet<string> = new Set([
  'fleetgctopic',
  'fleetgcpartition',
  'fleetgcoffset',
  'fleetgctimems',
  'fleetgcdatedbywriter',
  'knativekafkapartition',
  'knativekafkaoffset',
  'partitionkey',
]);

/** Why nobody can tell it, or need not. */
interface NoPosition {
  readonly kind: 'no-position' | 'not-taken';
  readonly detail: string;
}

const nowhere = (detail: string): NoPosition => ({ kind: 'no-position', detail });

function positionOf(attributes: Attributes, reading: Reading): Position | NoPosition {
  const topic = topicOf(attributes, reading);
  if (typeof topic === 'string') return { kind: 'not-taken', detail: topic };
  const found = PLACES.flatMap((place) => place(attributes) ?? []);
  const [first, ...others] = found;
  if (first === undefined) return nowhere(NO_POSITION);
  if (others.some(({ partition, offset }) => partition !== first.partition || offset !== first.offset))
    return nowhere('its attributes name two different positions; nobody can tell which of them is meant');
  const { name, partitions } = TOPICS[topic.id];
  if (!/^[0-9]{1,5}$/.test(first.partition) || Number(first.partition) >= partitions)
    return nowhere(`its partition is no number from 0 to ${partitions - 1}, which ${name} has`);
  if (!isOffsetText(first.offset))
    return nowhere('its offset is no whole number of at most 18 digits, as the event log has them');
  return { topic: name, partition: Number(first.partition), offset: BigInt(first.offset) };
}

const NO_POSITION =
  'nobody can tell where it lies on the event log, which every decision names: send the attributes fleetgctopic, fleetgcpartition and fleetgcoffset (KafkaSource of Knative sends knativekafkapartition and knativekafkaoffset by itself)';

interface Place {
  readonly partition: string;
  readonly offset: string;
}

const named =
  (partitionName: string, offsetName: string) =>
  (attributes: Attributes): Place | null => {
    const [partition, offset] = [attributes.get(partitionName), attributes.get(offsetName)];
    return partition === undefined || offset === undefined ? null : { partition, offset };
  };

/** In the subject of what is no CloudEvent on the topic, e.g. `partition:0#564`. */
function inSubject(attributes: Attributes): Place | null {
  if (attributes.get('type') !== KNATIVE_OTHER_TYPE) return null;
  const [, partition, offset] = /^partition:([0-9]+)#([0-9]+)$/.exec(attributes.get('subject') ?? '') ?? [];
  return partition === undefined || offset === undefined ? null : { partition, offset };
}

const PLACES = [
  named('fleetgcpartition', 'fleetgcoffset'),
  named('knativekafkapartition', 'knativekafkaoffset'),
  inSubject,
];

/** Each type of event is on one topic that a service reads; whoever says which has to say the same. Or why it is not taken, in a sentence. */
function topicOf(
  attributes: Attributes,
  { topics: taken, prefix }: Reading,
): { readonly id: TopicId } | string {
  const said = attributes.get('fleetgctopic') ?? knativeTopic(attributes, prefix);
  const names = taken.map((id) => TOPICS[id].name).join(' and ');
  if (said !== undefined) {
    const id = taken.find((each) => TOPICS[each].name === said);
    return id === undefined ? `this function takes events of ${names} alone` : { id };
  }
  const type = (attributes.get('type') ?? '').replace(/\.v[0-9]+$/, '');
  const id = taken.find((each) => EVENT_SCHEMAS[each].versionsOf(type).length > 0);
  return id === undefined
    ? `its type is none of those of ${names}, of which alone this function takes events`
    : { id };
}

/** Behind the last `#` of the source, as the brokers call it; `null` for a topic of another fleet. */
function knativeTopic(attributes: Attributes, prefix: string): string | null | undefined {
  if (attributes.get('type') !== KNATIVE_OTHER_TYPE) return undefined;
  const name = attributes.get('source')?.split('#').at(-1);
  return name === undefined ? undefined : logicalName({ prefix }, name);
}
