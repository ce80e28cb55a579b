import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { DeadLetterCause } from '../../../schemas/events/dead-letter.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import type {
  DashboardLetter,
  DashboardLetterShown,
  DashboardLetters,
} from '../../../schemas/reports/dashboard-letters.ts';
import type { EventLog } from '../../log/port.ts';
import { parseRecord } from '../../records/parse/parse-record.ts';
import { firstRecord } from '../../records/read-log.ts';
import { printable, printableLine } from '../../text/printable.ts';
import { type LetterContent, letterContent } from '../dead-letters/letter-content.ts';
import { originalRecord } from '../dead-letters/letters.ts';
import type { Before } from './before.ts';

/** Of what a letter holds so much is shown; all of it has `fleetgc dead-letters show`. */
const MOST_CONTENT_LENGTH = 64 * 1024;
const MOST_HEADERS = 50;

export interface LettersQuestion {
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
  { db, log }: { readonly db: DatabaseSync; readonly log: Pick<EventLog, 'read'> },
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
