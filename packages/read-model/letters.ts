import { isUtf8 } from 'node:buffer';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import {
  type DeadLetter,
  DeadLetterCause,
  type DeadLetterRedrive,
} from '../../schemas/events/dead-letter.ts';
import { isOffsetText } from '../../schemas/events/offset-text.ts';
import { compareText } from '../../schemas/events/text-order.ts';
import { TOPICS, type TopicId, type TopicName } from '../../schemas/events/topics.ts';
import type {
  DashboardLetter,
  DashboardLetterShown,
  DashboardLetters,
} from '../../schemas/reports/dashboard-letters.ts';
import { sha256Hex } from '../canonical/ids.ts';
import { TOPIC_NAMES, topicSpec } from '../log/partition.ts';
import type { LogReader, LogRecord, OutgoingRecord, ReadFrom } from '../log/port.ts';
import { FleetGcError } from '../process/errors.ts';
import { parseRecord, topicIdOf } from '../records/parse/parse-record.ts';
import { firstRecord } from '../records/read-log.ts';
import { printable, printableLine } from '../text/printable.ts';
import type { Before } from './history.ts';
import { originalKey, originalValue, valueBytesOf } from './project.ts';

/** Where the message lies on the log. */
export interface Position {
  readonly topic: TopicName;
  readonly partition: number;
  readonly offset: bigint;
}

/** The message as its dead letter tells it, or why it cannot be put back. */
type Original =
  | { readonly ok: true; readonly record: OutgoingRecord }
  | { readonly ok: false; readonly reason: string };

/**
 * Facts about nodes and clusters go back: whoever reads them judges them anew. An order is never put back, since a letter may be anybody's and
 * an old order asks for what nobody may want any more; an old policy would replace the one that holds now. Nobody acts on decisions, so
 * that no true letter holds one, and twice on the log one bears a number that was signed for another place.
 */
const GOES_BACK: Readonly<Record<TopicId, boolean>> = {
  diskStats: true,
  inventory: true,
  observe: false,
  commands: false,
  results: true,
  decisions: false,
  clusterOwnership: true,
  clusterPods: true,
  clusterExpiry: true,
  clusterCommands: false,
  // Nobody acts on it either.
  clusterRemoved: false,
  clusterResults: true,
  clusterDecisions: false,
  clusterCensus: true,
  policies: false,
  policyVersions: false,
  keys: false,
  heads: false,
  latestFacts: false,
  deadLetters: false,
};

export const goesBack = (topic: TopicId): boolean => GOES_BACK[topic];

const REDRIVABLE: ReadonlyMap<string, TopicName> = new Map(
  TOPIC_NAMES.filter((name) => goesBack(topicIdOf(name))).map((name) => [name, name]),
);

/** What would go back, by the letter alone: whoever may write dead letters may write anything into one. */
export function originalRecord(letter: DeadLetter): Original {
  const topic = REDRIVABLE.get(letter.topic);
  const key = originalKey(letter);
  const value = originalValue(letter);
  if (topic === undefined)
    return {
      ok: false,
      reason: `messages of ${letter.topic} are not put back, only facts about nodes and clusters are`,
    };
  if (!isPosition(letter, topic))
    return { ok: false, reason: 'its position is none that this topic can have' };
  if (key === null) return { ok: false, reason: 'it had no key, so nobody knows where it belongs' };
  if (Buffer.from(key, 'utf8').toString('base64') !== letter.key)
    return { ok: false, reason: 'its key is not text' };
  if (letter.omittedBytes > 0)
    return { ok: false, reason: 'it was too large to be kept here; it still lies at its own position' };
  if (value === null) return { ok: false, reason: 'it had no content' };
  return { ok: true, record: { topic, key, value, headers: letter.headers } };
}

const isPosition = ({ partition, offset }: DeadLetter, topic: TopicName): boolean =>
  partition < topicSpec(topic).partitions && isOffsetText(offset);

/** A dead letter as it lies on the log. */
export interface StoredLetter {
  /** Where only summaries were asked for, without value and headers. */
  readonly letter: DeadLetter;
  /** Size of the value of its message. */
  readonly valueBytes: number;
  /** Epoch milliseconds, by the log's clock: when a consumer gave the message up. */
  readonly diedAtMs: number;
  /** When its message was put back; null when it was not. */
  readonly redrivenAtMs: number | null;
}

export interface StoredLetters {
  /** Oldest first. Several with one id: at most one of them is genuine. */
  readonly letters: readonly StoredLetter[];
  /** Records of the topic that are no dead letters. */
  readonly unreadable: number;
}

/** Of which letters something is kept, and what of them. */
interface Wanted {
  readonly has: (id: string) => boolean;
  /** How much they may hold together. */
  readonly mostBytes: number;
  readonly keeps: 'whole' | 'summary';
}

const ALL: Wanted = { has: () => true, mostBytes: Number.POSITIVE_INFINITY, keeps: 'whole' };
/** Somebody waits for them, in a process that does other things as well. */
const MOST_NAMED_BYTES = 64 * 1024 * 1024;

/** Those with these ids, in the order of the ids; of the others nothing is kept. Throws `NOT_FOUND`, and `REDRIVE_REFUSED` where they hold too much. */
export async function readLettersNamed(
  log: LogReader,
  ids: readonly string[],
  signal: AbortSignal,
  mostBytes = MOST_NAMED_BYTES,
): Promise<readonly StoredLetter[]> {
  const named = new Set(ids);
  const wanted: Wanted = { has: (id) => named.has(id), mostBytes, keeps: 'whole' };
  const { letters } = await readStoredLetters(log, 'earliest', signal, wanted);
  const byId = Map.groupBy(letters, ({ letter }) => letter.id);
  return [...named].flatMap((id) => byId.get(id) ?? findLetters([], id));
}

/** Those whose ids begin with one of these; of the others nothing is kept. */
export const readLettersBeginning = (
  log: LogReader,
  beginnings: readonly string[],
  signal: AbortSignal,
): Promise<StoredLetters> =>
  readStoredLetters(log, 'earliest', signal, {
    ...ALL,
    has: (id) => beginnings.some((beginning) => id.startsWith(beginning)),
  });

/** All of them, without what their messages held: there may be very many, of 4 MiB each. */
export const readLetterSummaries = (
  log: LogReader,
  from: ReadFrom,
  signal: AbortSignal,
): Promise<StoredLetters> => readStoredLetters(log, from, signal, { ...ALL, keeps: 'summary' });

/** Reads the topic to its end, without a group. */
export async function readStoredLetters(
  log: LogReader,
  from: ReadFrom,
  signal: AbortSignal,
  wanted = ALL,
): Promise<StoredLetters> {
  const found = new FoundLetters(wanted);
  for await (const event of log.read({ topic: TOPICS.deadLetters.name, from, to: 'end' }, signal))
    if (event.kind === 'record') found.add(event.record);
  return found.stored();
}

type Died = Omit<StoredLetter, 'redrivenAtMs'>;

/** What the topic tells of letters, whatever comes first: a letter, or the note that its message was put back. */
class FoundLetters {
  readonly #wanted: Wanted;
  /** By id and the position of the message, and then by its content: an account that may write dead letters can reuse an id. */
  readonly #died = new Map<string, Map<string, Died>>();
  readonly #redrivenAtMs = new Map<string, number>();
  #unreadable = 0;
  #bytes = 0;

  constructor(wanted: Wanted) {
    this.#wanted = wanted;
  }

  add(record: LogRecord): void {
    const parsed = parseRecord('deadLetters', record);
    if (!parsed.ok) this.#unreadable += 1;
    else if (parsed.event.type === 'fleetgc.dead-letter-redrive')
      this.#addRedrive(parsed.event, record.timestampMs);
    else this.#addLetter(parsed.event, record.timestampMs);
  }

  stored(): StoredLetters {
    const letters = [...this.#died.values()].flatMap((ofPlace) =>
      [...ofPlace.values()].map((died) => ({
        ...died,
        redrivenAtMs: this.#redrivenAtMs.get(died.letter.id) ?? null,
      })),
    );
    return { letters: letters.toSorted(byTime), unreadable: this.#unreadable };
  }

  #addRedrive({ deadLetterId }: DeadLetterRedrive, atMs: number): void {
    if (this.#wanted.has(deadLetterId)) this.#redrivenAtMs.set(deadLetterId, atMs);
  }

  #addLetter(letter: DeadLetter, diedAtMs: number): void {
    const { has, mostBytes, keeps } = this.#wanted;
    const { id, topic, partition, offset, key, value } = letter;
    if (!has(id)) return;
    const place = JSON.stringify([id, topic, partition, offset, key]);
    const ofPlace = this.#died.get(place) ?? new Map<string, Died>();
    // A message that came twice may have been kept without its value once.
    if (value === null && ofPlace.size > 0 && !ofPlace.has(WITHOUT_VALUE)) return;
    if (value !== null) ofPlace.delete(WITHOUT_VALUE);
    const content = value === null ? WITHOUT_VALUE : contentOf(letter);
    if (!ofPlace.has(content)) this.#bytes += value?.length ?? 0;
    if (this.#bytes > mostBytes) throw tooLarge(mostBytes);
    const valueBytes = valueBytesOf(letter);
    const kept = keeps === 'whole' ? letter : { ...letter, value: null, headers: {} };
    this.#died.set(place, ofPlace.set(content, { letter: kept, valueBytes, diedAtMs }));
  }
}

const WITHOUT_VALUE = '';

const contentOf = ({ value, headers }: DeadLetter): string =>
  sha256Hex(JSON.stringify([value, Object.entries(headers).toSorted()]));

const tooLarge = (mostBytes: number): FleetGcError =>
  new FleetGcError(
    'REDRIVE_REFUSED',
    `these dead letters hold more than ${mostBytes} bytes together: put back fewer at once`,
  );

const byTime = (a: StoredLetter, b: StoredLetter): number =>
  a.diedAtMs - b.diedAtMs || compareText(a.letter.id, b.letter.id);

/** Conditions on dead letters; all that are given must hold. */
export interface LetterFilter {
  readonly topic?: string | undefined;
  readonly cause?: string | undefined;
  readonly group?: string | undefined;
  /** Whole, e.g. `prod/web-1`. */
  readonly key?: string | undefined;
  /** Also those whose message was put back already. */
  readonly redriven: boolean;
}

export const filterLetters = (
  letters: readonly StoredLetter[],
  { topic, cause, group, key, redriven }: LetterFilter,
): readonly StoredLetter[] =>
  letters.filter(
    ({ letter, redrivenAtMs }) =>
      (topic === undefined || letter.topic === topic) &&
      (cause === undefined || letter.cause === cause) &&
      (group === undefined || letter.group === group) &&
      (key === undefined || originalKey(letter) === key) &&
      (redriven || redrivenAtMs === null),
  );

/** Those with this id, or with the only one that begins so: several if forged ones reuse the id. Throws `NOT_FOUND`. */
export function findLetters(letters: readonly StoredLetter[], id: string): readonly StoredLetter[] {
  const exact = letters.filter(({ letter }) => letter.id === id);
  const found = exact.length > 0 ? exact : letters.filter(({ letter }) => letter.id.startsWith(id));
  const ids = new Set(found.map(({ letter }) => letter.id));
  if (ids.size === 0) throw new FleetGcError('NOT_FOUND', `there is no dead letter ${id}`);
  if (ids.size > 1)
    throw new FleetGcError('NOT_FOUND', `${ids.size} dead letters begin with ${id}; write more of it`);
  return found;
}

/** What the message of a dead letter held, as people can look at it; a text may have any character in it. */
type LetterContent =
  | { readonly kind: 'omitted'; readonly bytes: number }
  | { readonly kind: 'none' }
  | { readonly kind: 'empty' }
  | { readonly kind: 'bytes'; readonly bytes: number; readonly base64: string }
  /** JSON with a line for each member, where it is some. */
  | { readonly kind: 'text'; readonly text: string };

export function letterContent(letter: DeadLetter): LetterContent {
  if (letter.omittedBytes > 0) return { kind: 'omitted', bytes: letter.omittedBytes };
  const value = originalValue(letter);
  if (value === null) return { kind: 'none' };
  if (value.length === 0) return { kind: 'empty' };
  if (!isUtf8(value)) return { kind: 'bytes', bytes: value.length, base64: value.toString('base64') };
  return { kind: 'text', text: readableJson(value.toString('utf8')) };
}

function readableJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** Of what a letter holds so much is shown; all of it has `fleetgc dead-letters show`. */
const MOST_CONTENT_LENGTH = 64 * 1024;
const MOST_HEADERS = 50;

interface LettersQuestion {
  readonly cause: DeadLetterCause | null;
  readonly topic: string | null;
  /** Also those whose message was put back. */
  readonly isAll: boolean;
  readonly before: Before | null;
  readonly limit: number;
}

const REDRIVEN = '(SELECT max(redrives.at_ms) FROM redrives WHERE redrives.letter = letters.id)';
const COLUMNS = `id, at_ms, cause, message, consumer, topic, key, value_bytes, suppressed, partition, offset,
  ${REDRIVEN} AS redriven`;

/** As the verb has it, the newest first. */
export function readLetters(
  db: DatabaseSync,
  { cause, topic, isAll, before, limit }: LettersQuestion,
): DashboardLetters {
  const conditions: string[] = isAll ? [] : [`${REDRIVEN} IS NULL`];
  const values: SQLInputValue[] = [];
  const also = (condition: string, ...given: SQLInputValue[]): void => {
    conditions.push(condition);
    values.push(...given);
  };
  if (cause !== null) also('cause = ?', cause);
  if (topic !== null) also('topic = ?', topic);
  const where = () => (conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`);
  const counts = db
    .prepare(`SELECT cause, count(*) AS letters FROM letters ${where()} GROUP BY cause`)
    .all(...values)
    .map((row) => [DeadLetterCause.parse(row.cause), Number(row.letters)] as const);
  if (before !== null) also('(at_ms, id) < (?, ?)', before.atMs, before.id);
  const letters = db
    .prepare(`SELECT ${COLUMNS} FROM letters ${where()} ORDER BY at_ms DESC, id DESC LIMIT ?`)
    .all(...values, limit)
    .map(toldLetter);
  const last = letters.at(-1);
  return {
    total: counts.reduce((sum, [, count]) => sum + count, 0),
    byCause: Object.fromEntries(counts),
    letters,
    before: letters.length === limit && last !== undefined ? `${last.diedAtMs}:${last.id}` : null,
  };
}

const toldLetter = (row: Readonly<Record<string, unknown>>): DashboardLetter => ({
  id: String(row.id),
  cause: DeadLetterCause.parse(row.cause),
  message: String(row.message),
  group: String(row.consumer),
  topic: String(row.topic),
  key: row.key === null ? null : String(row.key),
  valueBytes: Number(row.value_bytes),
  suppressedBefore: Number(row.suppressed),
  diedAtMs: Number(row.at_ms),
  redrivenAtMs: row.redriven === null ? null : Number(row.redriven),
});

/** One letter, read where it lies; `null` where none of this id does. */
export async function readLetter(
  { db, log }: { readonly db: DatabaseSync; readonly log: LogReader },
  id: string,
  signal: AbortSignal,
): Promise<DashboardLetterShown | null> {
  const row = db.prepare(`SELECT ${COLUMNS} FROM letters WHERE id = ?`).get(id);
  if (row === undefined) return null;
  const [partition, offset] = [Number(row.partition), BigInt(String(row.offset))];
  const place = { topic: TOPICS.deadLetters.name, partition, from: { offset } } as const;
  const record = await firstRecord(log, place, signal);
  const parsed = record === null ? null : parseRecord('deadLetters', record);
  if (parsed?.ok !== true || parsed.event.type !== 'fleetgc.dead-letter' || parsed.event.id !== id)
    return null;
  const { event: letter } = parsed;
  const original = originalRecord(letter);
  const { topic, timestampMs } = letter;
  return {
    letter: toldLetter(row),
    position: {
      topic: printableLine(topic),
      partition: letter.partition,
      offset: printableLine(letter.offset),
      timestampMs,
    },
    headers: Object.entries(letter.headers)
      .slice(0, MOST_HEADERS)
      .map(([name, value]) => [shortened(printableLine(name)), shortened(printableLine(value))]),
    content: shownContent(letterContent(letter)),
    staysBecause: original.ok ? null : original.reason,
  };
}

const shortened = (text: string): string => text.slice(0, 1_000).toWellFormed();

function shownContent(content: LetterContent): DashboardLetterShown['content'] {
  switch (content.kind) {
    case 'omitted':
      return { kind: 'omitted', text: String(content.bytes), isWhole: false };
    case 'none':
    case 'empty':
      return { kind: content.kind, text: '', isWhole: true };
    case 'bytes':
      return cut('bytes', content.base64);
    case 'text':
      return cut('text', content.text);
  }
}

/** Cut before it is made printable, which makes it longer. */
const cut = (kind: 'bytes' | 'text', text: string): DashboardLetterShown['content'] => ({
  kind,
  text: printable(text.slice(0, MOST_CONTENT_LENGTH).toWellFormed()),
  isWhole: text.length <= MOST_CONTENT_LENGTH,
});
