import pMap from 'p-map';
import { TOPICS, type TopicName } from '../../schemas/events/topics.ts';
import { topicSpec } from '../log/partition.ts';
import type { EventLog, LogRecord, ReadFrom } from '../log/port.ts';
import { FleetGcError } from '../process/errors.ts';
import { CAUSES_FIRST } from '../records/read-log.ts';
import type { ArchivedEnd, ArchiveWriter } from './archive-writer.ts';
import { isCompacted } from './manifest.ts';
import { collectNames, isNamedTopic } from './names/collect-names.ts';
import { encodeNames } from './names/name-lines.ts';
import { closesBefore, extended, type FileLimits, type OpenRange, rangeOf } from './open-ranges.ts';
import type { RecordTable } from './record-table.ts';

export interface ArchiveProgress {
  readonly done: number;
  readonly of: number;
  readonly records: number;
}

/** Records that retention deleted before they were archived. */
export interface LostRecords {
  readonly topic: TopicName;
  readonly partition: number;
  readonly firstOffset: bigint;
  readonly lastOffset: bigint;
}

/** A partition of a topic. */
export interface PartitionName {
  readonly topic: TopicName;
  readonly partition: number;
}

export interface ArchiveNeeds {
  readonly log: Pick<EventLog, 'read'>;
  readonly archive: ArchiveWriter;
  readonly table: RecordTable;
  readonly limits: FileLimits;
  readonly now: () => number;
  readonly onProgress: (progress: ArchiveProgress) => void;
  readonly onLost: (lost: LostRecords) => void;
  readonly onFile?: (range: OpenRange) => void;
  /** Nothing that the log got before `sinceMs` is left to be archived of a partition. */
  readonly onReached?: (name: PartitionName, sinceMs: number) => void;
}

/** What one pass added. */
export interface ArchivedCounts {
  readonly records: number;
  readonly files: number;
}

/** Effects before their causes, so that the archive has no effect without its cause. */
const PARTITIONS: readonly PartitionName[] = CAUSES_FIRST.toReversed().flatMap((topicId) => {
  const topic = TOPICS[topicId].name;
  return Array.from({ length: topicSpec(topic).partitions }, (_, partition) => ({ topic, partition }));
});

/**
 * Copies what lies on the log and is not in the archive yet, up to the present end of each partition. When `signal`
 * aborts it ends between two files, and the next pass goes on there. Throws `TOPICS_RECREATED` for another log.
 */
export async function archiveLog(needs: ArchiveNeeds, signal: AbortSignal): Promise<ArchivedCounts> {
  const counts = { records: 0, files: 0 };
  for (const [done, name] of PARTITIONS.entries()) {
    const begunMs = needs.now();
    const file = createFile(needs, (range) => {
      counts.records += range.rows;
      counts.files += 1;
      needs.onFile?.(range);
      needs.onReached?.(name, range.lastMs);
      needs.onProgress({ done, of: PARTITIONS.length, records: counts.records });
    });
    if (!(await takeAll(newRecords(needs, name, signal), file.take))) {
      needs.table.clear();
      break;
    }
    await file.close();
    needs.onReached?.(name, begunMs);
  }
  return counts;
}

/** Whether all were taken: told to stop, what is in hand is left to the next pass. */
async function takeAll(
  records: AsyncIterable<LogRecord>,
  take: (record: LogRecord) => Promise<void>,
): Promise<boolean> {
  try {
    for await (const record of records) await take(record);
    return true;
  } catch (error) {
    if (error instanceof FleetGcError && error.code === 'INTERRUPTED') return false;
    throw error;
  }
}

const PARTITIONS_AT_ONCE = 4;

/**
 * Looks for the oldest record that is not archived, of each partition that the archive has, and tells its time by
 * `onReached`; of those with nothing new the present. Throws as `archiveLog`, and `INTERRUPTED` when `signal` aborts.
 */
export async function lookAhead(
  needs: Pick<ArchiveNeeds, 'log' | 'archive' | 'now' | 'onReached'>,
  signal: AbortSignal,
): Promise<void> {
  const begun = PARTITIONS.filter(({ topic, partition }) => needs.archive.endOf(topic, partition) !== null);
  await pMap(
    begun,
    async (name) => {
      const begunMs = needs.now();
      const next = await newRecords(needs, name, signal).next();
      needs.onReached?.(name, next.done ? begunMs : next.value.timestampMs);
    },
    { concurrency: PARTITIONS_AT_ONCE },
  );
}

/** The file in hand: it is closed before a record that does not belong into it. */
function createFile(needs: ArchiveNeeds, onClosed: (range: OpenRange) => void) {
  let open: OpenRange | null = null;
  let names = collectNames();
  const close = async (): Promise<void> => {
    if (open === null) return;
    const index = isNamedTopic(open.topic) ? encodeNames(names.lines()) : null;
    await needs.archive.addFile(open, { write: needs.table.writeParquet, names: index });
    onClosed(open);
    open = null;
    names = collectNames();
  };
  const take = async (record: LogRecord): Promise<void> => {
    if (open !== null && !belongs(open, record, needs.limits)) await close();
    if (open === null) await noteGap(needs, record);
    await needs.table.add(record);
    if (isNamedTopic(record.topic)) names.add(record);
    open = open === null ? rangeOf(record) : extended(open, record);
  };
  return { take, close };
}

const belongs = (open: OpenRange, record: LogRecord, limits: FileLimits): boolean =>
  !closesBefore(open, record, limits) && !isHole(open.lastOffset, record);

/** Whether records are missing before this one. On a compacted topic newer ones took their place. */
const isHole = (lastOffset: bigint, { topic, offset }: LogRecord): boolean =>
  !isCompacted(topic) && offset > lastOffset + 1n;

async function noteGap({ archive, now, onLost }: ArchiveNeeds, record: LogRecord): Promise<void> {
  const { topic, partition, offset } = record;
  const end = archive.endOf(topic, partition);
  if (end === null || !isHole(end.lastOffset, record)) return;
  const lost = { topic, partition, firstOffset: end.lastOffset + 1n, lastOffset: offset - 1n };
  await archive.addGap({
    topic,
    partition,
    firstOffset: String(lost.firstOffset),
    lastOffset: String(lost.lastOffset),
    notedAtMs: now(),
  });
  onLost(lost);
}

/** Those that the archive does not have. The last one that it has is read again, to see that this is the same log. */
async function* newRecords(
  { log, archive }: Pick<ArchiveNeeds, 'log' | 'archive'>,
  name: PartitionName,
  signal: AbortSignal,
): AsyncGenerator<LogRecord, void> {
  const end = archive.endOf(name.topic, name.partition);
  const from: ReadFrom = end === null ? 'earliest' : { offset: end.lastOffset };
  let isEmpty = true;
  for await (const event of log.read({ ...name, from, to: 'end' }, signal)) {
    if (event.kind !== 'record') continue;
    isEmpty = false;
    if (end !== null && event.record.offset <= end.lastOffset) requireSameRecord(end, event.record);
    else yield event.record;
  }
  if (isEmpty && end !== null) await requireNothingShorter(log, name, { end, signal });
}

function requireSameRecord(end: ArchivedEnd, record: LogRecord): void {
  if (record.offset === end.lastOffset && (end.lastMs === null || end.lastMs === record.timestampMs)) return;
  throw anotherLog(record);
}

/** Where retention deleted all, nothing is there; a topic that was made anew has records with lower offsets. */
async function requireNothingShorter(
  log: Pick<EventLog, 'read'>,
  name: PartitionName,
  { end, signal }: { readonly end: ArchivedEnd; readonly signal: AbortSignal },
): Promise<void> {
  for await (const event of log.read({ ...name, from: 'earliest', to: 'end' }, signal)) {
    if (event.kind === 'record' && event.record.offset <= end.lastOffset) throw anotherLog(event.record);
    return;
  }
}

const anotherLog = ({ topic, partition, offset }: LogRecord): FleetGcError =>
  new FleetGcError(
    'TOPICS_RECREATED',
    `${topic}/${partition}@${offset} is not what the archive has there: the topic was made anew, or this is another event log. Archive it to a new directory`,
  );
