import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { OffsetText } from '../../schemas/events/offset-text.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import { TOPIC_NAMES } from '../log/partition.ts';
import type { LogRecord } from '../log/port.ts';
import { exceededBound } from './parse/json-bounds.ts';

/**
 * A record as one CloudEvent in structured mode, in JSON, for whoever has no event log: its exact bytes as `data_base64`, and beside
 * the attributes of its headers where it lay.
 */
export type StructuredEvent = Readonly<Record<string, string | number | boolean>>;

type KeyAndHeaders = Pick<LogRecord, 'key' | 'headers'>;

export function structuredEvent(record: LogRecord): StructuredEvent {
  const { topic, partition, offset, timestampMs, isDatedByWriter, value } = record;
  return {
    ...(attributesOf(record) ?? attributesAround(record)),
    fleetgctopic: topic,
    fleetgcpartition: partition,
    fleetgcoffset: String(offset),
    fleetgctimems: String(timestampMs),
    ...(isDatedByWriter && { fleetgcdatedbywriter: true }),
    ...(value !== null && { data_base64: value.toString('base64') }),
  };
}

const largestValue = Math.max(...Object.values(TOPICS).map(({ bounds }) => bounds.bytes));
/** The largest value that FleetGC reads, in base64, and room for the attributes. */
export const MAX_EVENT_BYTES = Math.ceil((largestValue * 4) / 3) + 1024 * 1024;
/** A record has at most a hundred headers. */
const MAX_MEMBERS = 128;

/** A line that somebody sent, as the record that it was made of; or why it is none, in a sentence. */
export type StructuredReading =
  | { readonly ok: true; readonly record: LogRecord }
  | { readonly ok: false; readonly why: string };

/** Takes what `structuredEvent` makes and nothing else, with its members in any order. Never throws. */
export function readStructuredEvent(line: Buffer): StructuredReading {
  const event = flatObject(line);
  if (typeof event === 'string') return { ok: false, why: event };
  const { data: lain, error } = Lain.safeParse(event);
  if (error) return { ok: false, why: `it is no record of an event log: ${issuesText(error)}` };
  const carried = lain.fleetgcrecord === undefined ? keyAndHeadersOf(event) : carriedIn(lain.fleetgcrecord);
  if (carried === null) return { ok: false, why: 'nobody can tell the key and the headers of the record' };
  const record: LogRecord = {
    ...carried,
    topic: lain.fleetgctopic,
    partition: lain.fleetgcpartition,
    offset: lain.fleetgcoffset,
    timestampMs: lain.fleetgctimems,
    ...(lain.fleetgcdatedbywriter && { isDatedByWriter: true }),
    value: lain.data_base64 === undefined ? null : Buffer.from(lain.data_base64, 'base64'),
  };
  const difference = differentMember(event, structuredEvent(record));
  return difference === null
    ? { ok: true, record }
    : { ok: false, why: `its member ${JSON.stringify(difference)} is not as FleetGC writes it` };
}

/** Where a record lay, and what was in it. */
const Lain = z.object({
  fleetgctopic: z.enum(TOPIC_NAMES),
  fleetgcpartition: z.int().nonnegative(),
  fleetgcoffset: OffsetText.transform(BigInt),
  fleetgctimems: z
    .string()
    .regex(/^-?[0-9]{1,16}$/)
    .transform(Number),
  fleetgcdatedbywriter: z.literal(true).optional(),
  fleetgcrecord: z.string().optional(),
  data_base64: z.string().optional(),
});

/** The members of a line of JSON, or what is wrong with it. */
function flatObject(line: Buffer): Readonly<Record<string, unknown>> | string {
  if (line.length > MAX_EVENT_BYTES) return `it has more than the ${MAX_EVENT_BYTES} bytes that are read`;
  if (!isUtf8(line)) return 'it is not UTF-8 text';
  const text = line.toString('utf8');
  const exceeded = exceededBound(text, { depth: 1, elements: MAX_MEMBERS });
  if (exceeded === 'depth') return 'it holds lists or objects, and an event is flat';
  if (exceeded === 'elements') return `it has more than the ${MAX_MEMBERS} members that are read`;
  const { data } = JsonObject.safeParse(jsonIn(text));
  if (data === undefined) return 'it is no object in JSON';
  const members = Math.max(1, Object.keys(data).length);
  const isDoubled = exceededBound(text, { depth: 1, elements: members }) !== null;
  return isDoubled ? 'one of its members stands there twice' : data;
}

const JsonObject = z.custom<Readonly<Record<string, unknown>>>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
);

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const issuesText = ({ issues }: z.ZodError): string =>
  issues.map(({ path, message }) => `${z.core.toDotPath(path)}: ${message}`).join('; ');

function differentMember(event: Readonly<Record<string, unknown>>, made: StructuredEvent): string | null {
  const names = [...new Set([...Object.keys(event), ...Object.keys(made)])];
  return names.find((name) => !Object.hasOwn(event, name) || event[name] !== made[name]) ?? null;
}

/** Members that are no headers. The rest of them are attributes by which CloudEvents says what they are, of which no header speaks. */
const RESERVED: ReadonlySet<string> = new Set([
  ...Object.keys(Lain.shape),
  'partitionkey',
  'data',
  'dataschema',
  'datacontenttype',
  'traceparent',
  'tracestate',
]);

/** Headers that have no `ce_` before their name. */
const ATTRIBUTE_OF_HEADER: ReadonlyMap<string, string> = new Map([
  ['content-type', 'datacontenttype'],
  ['traceparent', 'traceparent'],
  ['tracestate', 'tracestate'],
]);
const HEADER_OF_ATTRIBUTE: ReadonlyMap<string, string> = new Map(
  [...ATTRIBUTE_OF_HEADER].map(([header, attribute]) => [attribute, header]),
);

const ATTRIBUTE = /^ce_([a-z0-9]{1,20})$/;

function attributeOf(header: string): string | null {
  const [, name] = ATTRIBUTE.exec(header) ?? [];
  if (name === undefined) return ATTRIBUTE_OF_HEADER.get(header) ?? null;
  return RESERVED.has(name) ? null : name;
}

/** What CloudEvents allows in the values of attributes: no control characters, and no code points that are no characters. */
const AttributeText = z.string().regex(/^[^\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]+$/u);

/** Of a header that says more than these, or less, nobody but FleetGC makes an event. */
const Attributes = z.record(z.string(), AttributeText).and(
  z.object({
    specversion: z.literal('1.0'),
    id: z.string(),
    type: z.string(),
    source: z.string().regex(/^(\/[A-Za-z0-9._~!$&'()*+,;=:@-]+)+$/),
    time: z.iso.datetime({ offset: true }).optional(),
    datacontenttype: z.literal('application/json').optional(),
    partitionkey: z.string(),
  }),
);

/** `null` where the attributes of an event cannot say exactly what key and headers say. */
function attributesOf({ key, headers }: KeyAndHeaders): Readonly<Record<string, string>> | null {
  const attributes: [string | null, string | null][] = Object.entries(headers).map(([header, text]) => [
    attributeOf(header),
    text,
  ]);
  if (attributes.some(([name]) => name === null)) return null;
  return Attributes.safeParse(Object.fromEntries([...attributes, ['partitionkey', key]])).data ?? null;
}

/** Of other members than text, or without a key, no record is made. */
function keyAndHeadersOf(event: Readonly<Record<string, unknown>>): KeyAndHeaders | null {
  const { data } = Attributes.safeParse(
    Object.fromEntries(Object.entries(event).filter(([name]) => !(name in Lain.shape))),
  );
  if (data === undefined) return null;
  const { partitionkey, ...attributes } = data;
  const headers = Object.entries(attributes).map(([name, text]) => [
    HEADER_OF_ATTRIBUTE.get(name) ?? `ce_${name}`,
    text,
  ]);
  return { key: partitionkey, headers: Object.fromEntries(headers) };
}

/** A record that is no CloudEvent by its headers: it travels in one, and key and headers stand in an attribute of their own. */
function attributesAround({ topic, partition, offset, key, headers }: LogRecord): StructuredEvent {
  const carried: z.infer<typeof Carried> = [key, Object.entries(headers)];
  return {
    specversion: '1.0',
    id: `${topic}/${partition}@${offset}`,
    type: 'fleetgc.record.v1',
    source: '/fleetgc/event-log',
    fleetgcrecord: Buffer.from(JSON.stringify(carried)).toString('base64'),
  };
}

const Carried = z.tuple([z.string().nullable(), z.array(z.tuple([z.string(), z.string()]))]);
const CARRIED_BOUNDS = { depth: 3, elements: 4 * MAX_MEMBERS };

function carriedIn(base64: string): KeyAndHeaders | null {
  const text = Buffer.from(base64, 'base64').toString('utf8');
  if (exceededBound(text, CARRIED_BOUNDS) !== null) return null;
  const { data } = Carried.safeParse(jsonIn(text));
  return data === undefined ? null : { key: data[0], headers: Object.fromEntries(data[1]) };
}
