import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { TOPICS, type TopicName } from '../../schemas/events/topics.ts';
import { pause } from '../process/backoff.ts';
import { DAY_MS } from '../process/durations.ts';
import { toFleetGcError } from '../process/errors.ts';
import { LinkedController } from '../process/linked-controller.ts';
import { endFor } from './embedded/changes.ts';
import type { Tables } from './embedded/database.ts';
import { startGroupMember } from './embedded/group-member.ts';
import { type OpenedLog, openLogFile } from './embedded/opened-log.ts';
import type { EmbeddedOptions } from './embedded/options.ts';
import type { PartitionEnd } from './embedded/records.ts';
import { MAX_SLICE_BYTES, MAX_SLICE_RECORDS, refuseTooLarge } from './limits.ts';
import { requirePartition, TOPIC_NAMES } from './partition.ts';
import type {
  ActiveSubscription,
  EventLog,
  EventLogContext,
  LogPublisher,
  LogRecord,
  ReadEvent,
  ReadFrom,
  ReadRequest,
} from './port.ts';
import { requireEndless } from './stopping.ts';

/** The first publish to a topic refuses another number of partitions than declared; later ones keep to ours. */
function createPublish(opened: OpenedLog): LogPublisher['publish'] {
  const checked = new Set<TopicName>();

  return async (records) => {
    if (records.length === 0) return [];
    await refuseTooLarge(records, '');
    const topics = new Set(records.map(({ topic }) => topic).filter((topic) => !checked.has(topic)));
    const positions = await opened.database.write((tables) => {
      for (const topic of topics) tables.partitions.requireDeclared(topic);
      return tables.records.append(records, opened.context.now());
    });
    for (const topic of topics) checked.add(topic);
    opened.changes.notify();
    return positions;
  };
}

/**
 * The event log of one machine: an SQLite file that processes share. A publish is one transaction, kept whole or not
 * at all. Throws `LOG_BUSY`, `LOG_FULL`, `LOG_CORRUPT` or `LOG_UNREACHABLE`.
 */
export async function openEmbeddedLog(options: EmbeddedOptions, context: EventLogContext): Promise<EventLog> {
  const opened = await openLogFile(options, context);
  const closing = new AbortController();
  const members = new Set<ActiveSubscription>();
  const cleaning = options.leavesRetention
    ? Promise.resolve()
    : cleanForever(opened, options.maxBytes, closing.signal);

  return {
    publish: createPublish(opened),
    subscribe: async (subscription, handle) => {
      const member = startGroupMember(opened, subscription, handle);
      members.add(member);
      return member;
    },
    read: (request, signal) => readRecords(opened, request, [closing.signal, ...(signal ? [signal] : [])]),
    createTopics: async () => {
      const created = await opened.database.write(({ partitions }) => partitions.createMissing());
      opened.changes.notify();
      return created;
    },
    checkTopics: () =>
      opened.database.read(({ partitions }) =>
        TOPIC_NAMES.map((topic) => partitions.difference(topic)).filter((difference) => difference !== null),
      ),
    servers: async () => [options.path],
    groups: (names) =>
      opened.database.read((tables) => names.map((group) => tables.groups.progress(group, context.now()))),
    health: () => ({ connected: opened.database.problem() === null, problem: opened.database.problem() }),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([...members].map((member) => member.stop()));
      closing.abort();
      await cleaning;
      opened.changes.close();
      opened.database.close();
    },
  };
}

const EVERY_MS = 60_000;
/**
 * As Kafka's `delete.retention.ms`: readers that were away this long may miss a deletion.
 * @limit Retention of tombstones. Keep it above `TOMBSTONES_KEPT_MS` of the audit.
 */
const TOMBSTONE_MS = DAY_MS;
/** Share of the file that records may fill; indexes, page ends and offsets take the rest. */
const RECORDS_SHARE = 0.7;

const SPECS = Object.values(TOPICS);
type Step = (tables: Tables) => number;

function expireSteps({ partitions }: Tables, nowMs: number): Step[] {
  return SPECS.flatMap(({ name, retentionMs }) => {
    if (retentionMs === 'forever') return [];
    const beforeMs = nowMs - retentionMs;
    return partitions.ofTopic(name).map(
      ({ id }): Step =>
        ({ removals }) =>
          removals.removeExpired(id, beforeMs),
    );
  });
}

function compactSteps({ partitions }: Tables, nowMs: number): Step[] {
  return SPECS.filter((spec) => spec.compacted).flatMap(({ name }) =>
    partitions.ofTopic(name).map(
      ({ id }): Step =>
        ({ removals }) =>
          removals.removeOutdated(id, nowMs - TOMBSTONE_MS),
    ),
  );
}

const shrinkStep =
  (maxBytes: number): Step =>
  ({ removals }) => {
    const surplusBytes = removals.keptBytes() - Math.floor(maxBytes * RECORDS_SHARE);
    return surplusBytes > 0 ? removals.removeOldest(surplusBytes) : 0;
  };

async function repeatUntilNothing({ database }: Pick<OpenedLog, 'database'>, step: Step): Promise<number> {
  let removed = 0;
  for (;;) {
    const count = await database.write(step);
    removed += count;
    if (count === 0) return removed;
    await yieldToEventLoop();
  }
}

/** One pass: what is too old goes, compacted topics keep the latest of each key, and the oldest goes for space. */
export async function cleanOnce(
  opened: Pick<OpenedLog, 'database' | 'context'>,
  maxBytes: number,
): Promise<void> {
  const nowMs = opened.context.now();
  const steps = await opened.database.read((tables) => [
    ...expireSteps(tables, nowMs),
    ...compactSteps(tables, nowMs),
    shrinkStep(maxBytes),
  ]);
  let removed = 0;
  for (const step of steps) removed += await repeatUntilNothing(opened, step);
  if (removed > 0)
    opened.context.logger.debug({ removed }, 'records removed from the event log by retention');
}

/** Cleans at once and then every minute, until `signal` aborts. A pass that fails is tried again at the next. */
async function cleanForever(opened: OpenedLog, maxBytes: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await cleanOnce(opened, maxBytes).catch((error) => {
      if (!signal.aborted) opened.context.logger.warn({ err: toFleetGcError(error) }, 'retention failed');
    });
    await pause(EVERY_MS, signal);
    if (!signal.aborted) opened.database.keepSpace();
  }
}

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
async function* readRecords(
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
