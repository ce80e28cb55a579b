import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import {
  doubledName,
  exceededBound,
  type OpenNames,
} from '../../../../packages/records/parse/json-bounds.ts';
import type { TopicId } from '../../../../schemas/events/topics.ts';
import { readPipesRecords } from '../kafka-event.ts';
import type { FunctionBounds } from './bounds.ts';
import {
  attributesOfHeaders,
  MOST_ATTRIBUTES,
  type ReceivedEvent,
  type RecordReading,
  recordOf,
} from './event-record.ts';
import { Refused, refused } from './problem.ts';

/** How events stand in a request. */
export type ContentMode = 'binary' | 'structured' | 'batch' | 'kafka-records';

interface Sent {
  readonly contentType: string;
  /** Names and values by turns, as they came. */
  readonly rawHeaders: readonly string[];
}

const MODES: ReadonlyMap<string, ContentMode> = new Map([
  ['application/cloudevents+json', 'structured'],
  ['application/cloudevents-batch+json', 'batch'],
]);

/** What a request says by its headers of how it is to be read. */
export function contentModeOf({ contentType, rawHeaders }: Sent): ContentMode | Refused {
  const [media = '', ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase());
  const charset = parameters.find((parameter) => parameter.startsWith('charset='));
  if (charset !== undefined && !/^charset="?utf-8"?$/.test(charset))
    return refused('unknown-content-type', 'events are read as UTF-8 alone');
  const mode = MODES.get(media);
  if (mode !== undefined) return mode;
  if (media !== 'application/json') return refused('unknown-content-type', UNKNOWN_TYPE);
  const isBinary = rawHeaders.some(
    (text, index) => index % 2 === 0 && text.toLowerCase() === 'ce-specversion',
  );
  return isBinary ? 'binary' : 'kafka-records';
}

const UNKNOWN_TYPE =
  'send application/cloudevents+json for one event, application/cloudevents-batch+json for several, or application/json with the attributes in ce- headers';

/** What came, each as a record or why it is none; or why nothing of it can be read. */
type Received = {
  readonly readings: readonly RecordReading[];
};

interface Reading {
  readonly topics: readonly TopicId[];
  /** In front of the names of topics on the brokers; empty: none. */
  readonly prefix: string;
  readonly bounds: FunctionBounds;
  readonly nowMs: number;
}

export function readEvents(
  mode: ContentMode,
  body: Buffer,
  { sent, ...reading }: Reading & { readonly sent: Sent },
): Received | Refused {
  if (mode === 'binary') {
    const attributes = attributesOfHeaders(sent.rawHeaders);
    if (attributes instanceof Refused) return attributes;
    return { readings: [recordOf({ attributes, data: body }, reading)] };
  }
  const value = jsonIn(body, reading.bounds);
  if (value instanceof Refused) return value;
  if (mode === 'kafka-records') return fromKafka(value.json, reading);
  const doubled = doubledMemberAt(value.text, mode === 'batch' ? 2 : 1, ALL_MEMBERS);
  if (doubled !== null)
    return refused('bad-attribute', `an event has the member ${JSON.stringify(doubled)} twice`);
  const events = mode === 'batch' ? value.json : [value.json];
  if (!Array.isArray(events)) return refused('no-cloud-event', 'a batch is a list of events');
  if (events.length > MOST_EVENTS)
    return refused('too-many-events', `at most ${MOST_EVENTS} events are taken at once`);
  return { readings: events.map((event) => fromStructured(event, reading)) };
}

/**
 * Events of one request: as many as a slice of the event log.
 * @limit Events of one request.
 */
const MOST_EVENTS = 500;

function fromKafka(json: unknown, { topics, prefix, nowMs }: Reading): Received | Refused {
  const records = readPipesRecords(json, { topics, prefix, nowMs });
  if ('kind' in records) return refused(records.kind, records.detail);
  if (records.length > MOST_EVENTS)
    return refused('too-many-events', `at most ${MOST_EVENTS} events are taken at once`);
  return { readings: records.map((record) => ({ ok: true, record, tellsKey: true })) };
}

function jsonIn(
  body: Buffer,
  { elements, depth }: FunctionBounds,
): { readonly json: unknown; readonly text: string } | Refused {
  if (!isUtf8(body)) return refused('bad-body', 'the body is not UTF-8 text');
  const text = body.toString('utf8');
  const exceeded = exceededBound(text, { depth, elements });
  if (exceeded !== null)
    return refused(
      'too-large',
      `the body has more ${exceeded === 'depth' ? 'levels of brackets' : 'elements'} than are read`,
    );
  try {
    return { json: JSON.parse(text), text };
  } catch {
    return refused('bad-body', 'the body is not JSON');
  }
}

/** Its attributes, and its data in one form or the other. */
const ALL_MEMBERS = MOST_ATTRIBUTES + 2;

const Structured = z.record(z.string(), z.unknown());
const AttributeValue = z.union([z.string(), z.number(), z.boolean()]);

function fromStructured(event: unknown, reading: Reading): RecordReading {
  const received = receivedOf(event);
  return typeof received === 'string'
    ? { ok: false, id: null, kind: 'no-cloud-event', detail: received }
    : recordOf(received, reading);
}

const NO_OBJECT = 'it is no object';
const TOO_MANY_ATTRIBUTES = `it has more than ${MOST_ATTRIBUTES} attributes`;

/** Or why it is none, in a sentence. */
function receivedOf(event: unknown): ReceivedEvent | string {
  if (typeof event !== 'object' || event === null || Array.isArray(event)) return NO_OBJECT;
  if (Object.keys(event).length > ALL_MEMBERS) return TOO_MANY_ATTRIBUTES;
  const { data: members } = Structured.safeParse(event);
  if (members === undefined) return NO_OBJECT;
  const { data, data_base64: base64, ...rest } = members;
  if (Object.keys(rest).length > MOST_ATTRIBUTES) return TOO_MANY_ATTRIBUTES;
  const attributes = new Map<string, string>();
  for (const [name, value] of Object.entries(rest)) {
    const { data: text } = AttributeValue.safeParse(value);
    if (text === undefined) return 'an attribute is no text, number or boolean';
    attributes.set(name, String(text));
  }
  const bytes = dataOf(data, base64);
  if (bytes === null) return 'its data_base64 is no base64, or it has both data and data_base64';
  if (!attributes.has('datacontenttype')) attributes.set('datacontenttype', 'application/json');
  return { attributes, data: bytes };
}

/** Of data that is JSON here, the bytes are those that JSON.stringify gives, as agents write theirs. */
function dataOf(data: unknown, base64: unknown): Buffer | null {
  if (base64 === undefined) return Buffer.from(data === undefined ? '' : JSON.stringify(data));
  const { data: text } = z.base64().safeParse(base64);
  return text === undefined || data !== undefined ? null : Buffer.from(text, 'base64');
}

/**
 * The name of a member that stands twice in an object at this depth of a JSON text, `null` where none does. Whoever looked at the request
 * on its way may have read the other one. An object with more than `most` names is nothing that is read: it costs no more than the others.
 */
export const doubledMemberAt = (text: string, depth: number, most: number): string | null =>
  doubledName(text, new NamesAtDepth(depth, most));

/** The names of the object that is open at the depth. */
class NamesAtDepth implements OpenNames {
  readonly #depth: number;
  readonly #most: number;
  #level = 0;
  #names = new Set<string>();

  constructor(depth: number, most: number) {
    this.#depth = depth;
    this.#most = most;
  }

  step(step: number): void {
    this.#level += step;
    if (step > 0 && this.#level === this.#depth) this.#names = new Set();
  }

  isWatched(): boolean {
    return this.#level === this.#depth && this.#names.size <= this.#most;
  }

  add(name: string): boolean {
    const before = this.#names.size;
    return this.#names.add(name).size > before;
  }
}
