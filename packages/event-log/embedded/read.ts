import type { TopicName } from '../../../schemas/events/topics.ts';
import { MAX_SLICE_BYTES, MAX_SLICE_RECORDS } from '../limits.ts';
import { requirePartition } from '../partition.ts';
import type { LogRecord, ReadEvent, ReadFrom, ReadRequest } from '../port.ts';
import { requireEndless } from '../stopping.ts';
import { endOf, requireDeclared } from './append.ts';
import { endFor } from './ends.ts';
import type { EmbeddedCore } from './membership.ts';
import type { PartitionEnd, Statements } from './statements.ts';

const LOOK_MS = 1000;

interface Cursor {
  readonly id: number;
  readonly topic: TopicName;
  readonly partition: number;
  next: number;
  end: number;
  /** So many records are read at a time. */
  page: number;
}

/** Whoever wants a record or two shall not wait for a whole slice. */
const FIRST_PAGE = 8;
const PAGES_GROW = 8;

function firstOffset(statements: Statements, end: PartitionEnd, from: ReadFrom): number {
  if (from === 'earliest') return 0;
  if ('offset' in from) return Number(from.offset);
  return statements.offsetAtTime(end.id, from.timestampMs) ?? end.nextOffset;
}

const lastOffset = ({ nextOffset }: PartitionEnd, to: ReadRequest['to']): number =>
  typeof to === 'object' ? Math.min(nextOffset, Number(to.before)) : nextOffset;

function requestedEnds(statements: Statements, { topic, partition }: ReadRequest): readonly PartitionEnd[] {
  requireDeclared(statements, topic);
  return partition === undefined ? statements.partitions(topic) : [endOf(statements, topic, partition)];
}

function openCursors(statements: Statements, request: ReadRequest): Cursor[] {
  return requestedEnds(statements, request).map((end) => ({
    id: end.id,
    topic: request.topic,
    partition: end.partition,
    next: firstOffset(statements, end, request.from),
    end: lastOffset(end, request.to),
    page: FIRST_PAGE,
  }));
}

async function nextPage({ database }: EmbeddedCore, cursor: Cursor): Promise<readonly LogRecord[]> {
  const limits = { maxRecords: cursor.page, maxBytes: MAX_SLICE_BYTES };
  const page = { ...cursor, from: cursor.next, before: cursor.end, ...limits };
  const records = await database.read((statements) => statements.page(page));
  const last = records.at(-1);
  cursor.next = last === undefined ? cursor.end : Number(last.offset) + 1;
  cursor.page = Math.min(MAX_SLICE_RECORDS, cursor.page * PAGES_GROW);
  return records;
}

async function* readToEnds(core: EmbeddedCore, cursors: readonly Cursor[], signal: AbortSignal) {
  for (const cursor of cursors) {
    while (cursor.next < cursor.end && !signal.aborted) yield* await nextPage(core, cursor);
  }
}

async function advanceEnds(core: EmbeddedCore, cursors: readonly Cursor[]): Promise<void> {
  const ends = await core.ends.current();
  for (const cursor of cursors) cursor.end = endFor(ends, cursor);
}

const asEvent = (record: LogRecord): ReadEvent => ({ kind: 'record', record });

/** Reads without a group. When `signal` aborts `forever` ends, another reading throws `INTERRUPTED`. */
export async function* readRecords(
  core: EmbeddedCore,
  request: ReadRequest,
  signal: AbortSignal,
): AsyncGenerator<ReadEvent, void> {
  requirePartition(request.topic, request.partition);
  const cursors = await core.database.read((statements) => openCursors(statements, request));
  for await (const record of readToEnds(core, cursors, signal)) yield asEvent(record);
  if (signal.aborted) return requireEndless(request.to);
  yield { kind: 'caught-up' };
  while (request.to === 'forever' && !signal.aborted) {
    const seen = core.changes.version();
    await advanceEnds(core, cursors);
    for await (const record of readToEnds(core, cursors, signal)) yield asEvent(record);
    await core.changes.after(seen, signal, LOOK_MS);
  }
}
