import { type EventOf, TOPICS, type TopicId } from '../../../schemas/events/topics.ts';
import { sha256Hex } from '../../canonical/ids.ts';
import type { LogRecord } from '../../log/port.ts';
import { doubledName, type OpenNames } from '../../records/parse/json-bounds.ts';
import { distrusted } from '../../records/parse/parse-believed.ts';
import {
  type ParsedRecord,
  parseJson,
  parseValueOf,
  type Rejection,
  topicIdOf,
} from '../../records/parse/parse-record.ts';
import { TRUST_OFF, type Trust } from '../../records/trust/trust.ts';
import { type Place, placeOf } from './log-position.ts';
import { ReadSpan } from './reading.ts';
import { type OnDecisions, onDecisions } from './recorded-decision.ts';

/** A record that was read: its event, and what its bytes say as JSON. */
interface ReadRecord<Id extends TopicId> {
  readonly event: EventOf<Id>;
  readonly value: unknown;
  readonly record: LogRecord;
}

/** What whoever reads is told of the records on the way. */
interface ReadingVisitor {
  /** The bytes are JSON, and say this; whether that is an event was not asked yet. */
  readonly onJson: (record: LogRecord, value: unknown) => void;
  /** No consumer takes it. */
  readonly onRefused: (topicId: TopicId, record: LogRecord, rejection: Rejection) => void;
}

/**
 * Makes events of records by the steps of every consumer: who may speak, JSON, schema, key and headers. Some audits count what is
 * refused, and others tell of it: that is their visitor.
 */
export class RecordReader {
  readonly #visitor: ReadingVisitor;
  readonly #trust: Trust;

  constructor(visitor: ReadingVisitor, trust: Trust) {
    this.#visitor = visitor;
    this.#trust = trust;
  }

  /** `null` for what is no event of its topic. */
  read<Id extends TopicId>(topicId: Id, record: LogRecord): ReadRecord<Id> | null {
    const json = this.#json(topicId, record);
    const parsed = json.ok ? parseValueOf(topicId, json.event, record) : json;
    if (json.ok && parsed.ok) return { event: parsed.event, value: json.event, record };
    if (!parsed.ok) this.#visitor.onRefused(topicId, record, parsed.rejection);
    return null;
  }

  /** The same for the topics of decisions, whose records are parsed only as far as anybody needs them. */
  onDecisions(record: LogRecord): OnDecisions | null {
    const topicId = topicIdOf(record.topic);
    const json = this.#json(topicId, record);
    const found = json.ok ? onDecisions(record, json.event) : json;
    if (found.ok) return found.event;
    this.#visitor.onRefused(topicId, record, found.rejection);
    return null;
  }

  #json(topicId: TopicId, record: LogRecord): ParsedRecord<unknown> {
    const authentication = this.#trust.authenticate(topicId, record);
    if (!authentication.ok) return distrusted(authentication.distrust);
    const json = parseJson(TOPICS[topicId].name, record.value);
    if (json.ok) this.#visitor.onJson(record, json.event);
    return json;
  }
}

/** Reads records, and keeps account of what was read. */
export class EventReader {
  records = 0;
  unreadable = 0;
  readonly span = new ReadSpan();
  readonly #reader = new RecordReader(
    {
      onJson: () => undefined,
      onRefused: () => {
        this.unreadable += 1;
      },
    },
    TRUST_OFF,
  );
  #repetitions = new Repetitions();

  /** A record came, whether or not anybody reads it. */
  count({ timestampMs }: LogRecord): void {
    this.records += 1;
    this.span.reach(timestampMs);
  }

  /** `null` for what is no event of its topic, which is counted. */
  event<Id extends TopicId>(topicId: Id, record: LogRecord): EventOf<Id> | null {
    return this.#reader.read(topicId, record)?.event ?? null;
  }

  /** The same for the topic of decisions. */
  onDecisions(record: LogRecord): OnDecisions | null {
    return this.#reader.onDecisions(record);
  }

  /** The same, without what lies there once more: any message may be on the log twice. */
  newEvent<Id extends TopicId>(topicId: Id, record: LogRecord): EventOf<Id> | null {
    const event = this.event(topicId, record);
    return event !== null && this.isNew(event, record) ? event : null;
  }

  isNew(event: { readonly id: string }, record: Pick<LogRecord, 'topic'>): boolean {
    return this.#repetitions.isFirst(messageName(event, record));
  }

  /** Repetitions lie in the same partition. */
  endPartition(): void {
    this.#repetitions = new Repetitions();
  }
}

/** What is wrong with it, for people. */
export const doubledText = (name: string): string =>
  `one object in it has the member ${JSON.stringify(name)} twice: FleetGC takes the last, and others may take the first`;

/** The first name that stands twice in one object of a JSON text; `parsed` is what JSON.parse made of it. */
export const doubledMember = (json: Buffer, parsed: unknown): string | null =>
  namesIn(json) === membersOf(parsed) ? null : doubledName(json.toString('utf8'), new NamesOfAll());

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/** How many members the text has: colons that stand in no text. What UTF-8 writes in several bytes has none of these in it. */
function namesIn(json: Buffer): number {
  let names = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === QUOTE) at = endOfText(json, at + 1);
    else if (byte === COLON) names += 1;
  }
  return names;
}

/** Where the quote stands that ends a text. */
function endOfText(json: Buffer, from: number): number {
  let at = from;
  while (at < json.length && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
  return at;
}

/**
 * How many members the value has: of two with one name in an object JSON.parse keeps one. It does not call itself: a value may be as
 * deep as somebody likes.
 */
function membersOf(value: unknown): number {
  let members = 0;
  const left = [value];
  for (let next = left.pop(); next !== undefined; next = left.pop())
    if (Array.isArray(next)) for (const item of next) takeNested(left, item);
    else if (isObject(next)) members += takeMembers(left, next);
  return members;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

function takeNested(left: unknown[], value: unknown): void {
  if (isObject(value)) left.push(value);
}

/** A loop over names makes no list of them. */
function takeMembers(left: unknown[], object: Readonly<Record<string, unknown>>): number {
  let members = 0;
  for (const name in object) {
    members += 1;
    takeNested(left, object[name]);
  }
  return members;
}

class NamesOfAll implements OpenNames {
  readonly #open: Set<string>[] = [];

  step(step: number): void {
    if (step > 0) this.#open.push(new Set());
    if (step < 0) this.#open.pop();
  }

  isWatched(): boolean {
    return true;
  }

  add(name: string): boolean {
    const names = this.#open.at(-1);
    if (names?.has(name)) return false;
    names?.add(name);
    return true;
  }
}

/** Repetitions come soon after the original; so many ids are kept. */
const MOST = 50_000;

/** Whether a record was there before: any message may lie on the log twice, but only as it was. */
type Sighting =
  | { readonly kind: 'first' }
  | { readonly kind: 'same' }
  | { readonly kind: 'other'; readonly before: Place };

/** Ids are told apart by topic: an event that is derived from another may have its id. */
export const messageName = ({ id }: { readonly id: string }, { topic }: Pick<LogRecord, 'topic'>): string =>
  `${topic} ${id}`;

interface Seen {
  readonly fingerprint: string;
  readonly place: Place;
}

/** Ids that came before, each with what was last said of it; those that came first are forgotten first. */
class RecentIds<Said> {
  readonly #said = new Map<string, Said>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  before(id: string): Said | undefined {
    return this.#said.get(id);
  }

  add(id: string, said: Said): void {
    this.#said.set(id, said);
    if (this.#said.size <= this.#most) return;
    const [oldest] = this.#said.keys();
    if (oldest !== undefined) this.#said.delete(oldest);
  }
}

/** Finds messages that lie on the log more than once, by their ids. */
export class Repetitions {
  readonly #ids: RecentIds<true>;

  constructor(most: number = MOST) {
    this.#ids = new RecentIds(most);
  }

  isFirst(id: string): boolean {
    if (this.#ids.before(id) !== undefined) return false;
    this.#ids.add(id, true);
    return true;
  }
}

/** The same, and whether they are as they were. */
export class ComparedRepetitions {
  readonly #ids: RecentIds<Seen>;

  constructor(most: number = MOST) {
    this.#ids = new RecentIds(most);
  }

  /** `content` is what must not change between two records of one id; the whole value unless something else is said. */
  sighting(id: string, record: LogRecord, content: string | Buffer = record.value ?? ''): Sighting {
    const fingerprint = sha256Hex(content);
    const before = this.#ids.before(id);
    if (before === undefined) {
      this.#ids.add(id, { fingerprint, place: placeOf(record) });
      return { kind: 'first' };
    }
    return before.fingerprint === fingerprint ? { kind: 'same' } : { kind: 'other', before: before.place };
  }
}
