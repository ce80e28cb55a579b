import type { TopicName } from '../../../schemas/events/topics.ts';
import { LinkedController } from '../../process/linked-controller.ts';
import { MAX_SLICE_BYTES, MAX_SLICE_RECORDS } from '../limits.ts';
import { requirePartition } from '../partition.ts';
import type { LogRecord, ReadEvent, ReadFrom, ReadRequest } from '../port.ts';
import { requireEndless } from '../stopping.ts';
import { endFor } from './changes.ts';
import type { Tables } from './database.ts';
import type { OpenedLog } from './opened-log.ts';
import type { PartitionEnd } from './partitions.ts';

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

function firstOffset({ records }: Tables, end: PartitionEnd, from: ReadFrom): number {
  if (from === 'earliest') return 0;
  if ('offset' in from) return Number(from.offset);
  return records.offsetAtTime(end.id, from.timestampMs) ?? end.nextOffset;
}

const lastOffset = ({ nextOffset }: PartitionEnd, to: ReadRequest['to']): number =>
  typeof to === 'object' ? Math.min(nextOffset, Number(to.before)) : nextOffset;

function requestedEnds({ partitions }: Tables, { topic, partition }: ReadRequest): readonly PartitionEnd[] {
  partitions.requireDeclared(topic);
  return partition === undefined ? partitions.ofTopic(topic) : [partitions.require(topic, partition)];
}

function openCursors(tables: Tables, request: ReadRequest): Cursor[] {
  return requestedEnds(tables, request).map((end) => ({
    id: end.id,
    topic: request.topic,
    partition: end.partition,
    next: firstOffset(tables, end, request.from),
    end: lastOffset(end, request.to),
    page: FIRST_PAGE,
  }));
}

async function nextPage({ database }: OpenedLog, cursor: Cursor): Promise<readonly LogRecord[]> {
  const limits = { maxRecords: cursor.page, maxBytes: MAX_SLICE_BYTES };
  const page = { ...cursor, from: cursor.next, before: cursor.end, ...limits };
  const found = await database.read(({ records }) => records.page(page));
  const last = found.at(-1);
  cursor.next = last === undefined ? cursor.end : Number(last.offset) + 1;
  cursor.page = Math.min(MAX_SLICE_RECORDS, cursor.page * PAGES_GROW);
  return found;
}

async function* readToEnds(opened: OpenedLog, cursors: readonly Cursor[], signal: AbortSignal) {
  for (const cursor of cursors) {
    while (cursor.next < cursor.end && !signal.aborted) yield* await nextPage(opened, cursor);
  }
}

async function advanceEnds(opened: OpenedLog, cursors: readonly Cursor[]): Promise<void> {
  const ends = await opened.ends.current();
  for (const cursor of cursors) cursor.end = endFor(ends, cursor);
}

const asEvent = (record: LogRecord): ReadEvent => ({ kind: 'record', record });

/** Reads without a group. When one of the signals aborts `forever` ends, another reading throws `INTERRUPTED`. */
export async function* readRecords(
  opened: OpenedLog,
  request: ReadRequest,
  signals: readonly AbortSignal[],
): AsyncGenerator<ReadEvent, void> {
  requirePartition(request.topic, request.partition);
  using stopping = new LinkedController(...signals);
  const { signal } = stopping;
  const cursors = await opened.database.read((tables) => openCursors(tables, request));
  for await (const record of readToEnds(opened, cursors, signal)) yield asEvent(record);
  if (signal.aborted) return requireEndless(request.to);
  yield { kind: 'caught-up' };
  while (request.to === 'forever' && !signal.aborted) {
    const seen = opened.changes.version();
    await advanceEnds(opened, cursors);
    for await (const record of readToEnds(opened, cursors, signal)) yield asEvent(record);
    if (!signal.aborted) yield { kind: 'still-caught-up' };
    await opened.changes.after(seen, signal, LOOK_MS);
  }
}
