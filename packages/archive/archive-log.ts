import pMap from 'p-map';
import { TOPICS, type TopicName } from '../../schemas/events/topics.ts';
import { topicSpec } from '../log/partition.ts';
import type { LogReader, LogRecord, ReadFrom } from '../log/port.ts';
import { FleetGcError, toFleetGcError } from '../process/errors.ts';
import { CAUSES_FIRST } from '../records/read-log.ts';
import {
  type ArchivedEnd,
  type ArchiveSources,
  type ArchiveWriter,
  closesBefore,
  extended,
  type FileLimits,
  type OpenRange,
  openArchiveWriter,
  rangeOf,
} from './archive-writer.ts';
import { collectNames, isNamedTopic } from './collect-names.ts';
import { createRecordTable, openDuckDb, type RecordTable } from './duckdb.ts';
import { isCompacted } from './manifest.ts';
import { encodeNames } from './names.ts';
import { type HeadSigner, type SignedPass, signPass } from './sign-head.ts';
import type { ArchivePlace } from './store.ts';

interface ArchiveProgress {
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

export interface ArchiveRequest extends ArchiveSources {
  readonly log: LogReader;
  readonly place: ArchivePlace;
  readonly limits?: FileLimits;
  /** `null`: nobody signs what the archive is. */
  readonly signer: HeadSigner | null;
  readonly onProgress: (progress: ArchiveProgress) => void;
  readonly onFile?: (range: OpenRange) => void;
  /** Nothing that the log got before `sinceMs` is left to be archived of a partition. */
  readonly onReached?: (name: PartitionName, sinceMs: number) => void;
}

/** What a run did. */
export interface ArchiveRun {
  /** What it added. */
  readonly records: number;
  readonly files: number;
  readonly lost: readonly LostRecords[];
  /** The hash of the manifest's last line. */
  readonly head: string;
  /** Whether somebody signed what the archive is now; `null` where nobody was to, or the pass did not come to its end. */
  readonly signed: SignedPass | null;
}

/**
 * Brings the archive up to the present end of the log. When `signal` aborts it ends between two files, and the next pass goes on
 * there. Throws as `openArchiveWriter`, and `TOPICS_RECREATED` for another log.
 */
export async function archiveTo(request: ArchiveRequest, signal: AbortSignal): Promise<ArchiveRun> {
  using archive = await openArchiveWriter(request.place, request);
  return await archivePass(archive, request, signal);
}

export interface FollowRequest extends ArchiveRequest {
  /** From the beginning of one pass to that of the next. */
  readonly everyMs: number;
  /** Resolves after `ms`, or at once when the signal aborts. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly onRun: (run: ArchiveRun) => void;
  /** What may pass by itself; it is tried again. */
  readonly onFailure: (error: FleetGcError) => void;
}

/** After a failure. */
const RETRY_MS = 60_000;

/**
 * Goes on copying the log into an archive, pass by pass, until the signal aborts. Throws what no retry mends, such as
 * `ARCHIVE_CHANGED` and `TOPICS_RECREATED`.
 */
export async function followLog(request: FollowRequest, signal: AbortSignal): Promise<void> {
  const { place, everyMs, now, wait, onRun, onFailure } = request;
  while (!signal.aborted) {
    try {
      // Opened anew after a failure, which may have left something half done.
      using archive = await openArchiveWriter(place, request);
      await lookAhead(archive, request, signal);
      while (!signal.aborted) {
        const startedMs = now();
        onRun(await archivePass(archive, request, signal));
        await wait(Math.max(0, startedMs + everyMs - now()), signal);
      }
    } catch (thrown) {
      if (signal.aborted) return;
      onFailure(requirePassing(toFleetGcError(thrown)));
      await wait(Math.min(RETRY_MS, everyMs), signal);
    }
  }
}

/** Another log in the place of the one that is archived stays another. */
function requirePassing(error: FleetGcError): FleetGcError {
  if (error.retry && error.code !== 'TOPICS_RECREATED') return error;
  throw error;
}

/** Effects before their causes, so that the archive has no effect without its cause. */
const PARTITIONS: readonly PartitionName[] = CAUSES_FIRST.toReversed().flatMap((topicId) => {
  const topic = TOPICS[topicId].name;
  return Array.from({ length: topicSpec(topic).partitions }, (_, partition) => ({ topic, partition }));
});

/** @limit Partitions archived at the same time. Each takes memory. */
const PARTITIONS_AT_ONCE = 4;

/**
 * Looks for the oldest record that is not archived, of each partition that the archive has, and tells its time by
 * `onReached`; of those with nothing new the present. Throws as `archivePass`, and `INTERRUPTED` when `signal` aborts.
 */
async function lookAhead(
  archive: ArchiveWriter,
  { log, now, onReached }: ArchiveRequest,
  signal: AbortSignal,
): Promise<void> {
  const begun = PARTITIONS.filter(({ topic, partition }) => archive.endOf(topic, partition) !== null);
  await pMap(
    begun,
    async (name) => {
      const begunMs = now();
      const next = await newRecords(log, archive, name, signal).next();
      onReached?.(name, next.done ? begunMs : next.value.timestampMs);
    },
    { concurrency: PARTITIONS_AT_ONCE },
  );
}

/** One pass over all that the log has and the archive does not. */
async function archivePass(
  archive: ArchiveWriter,
  request: ArchiveRequest,
  signal: AbortSignal,
): Promise<ArchiveRun> {
  await using duck = openDuckDb();
  using table = createRecordTable(duck);
  // 1. Mark the pass: from here on something in the archive may lack its causes.
  archive.beginPass(request.now());
  // 2. Copy partition by partition what is new, into files and with an index of names.
  const copy = new Copy(archive, request, table);
  await copy.all(signal);
  const { records, files, lost } = copy;
  if (signal.aborted) return { records, files, lost, head: archive.head(), signed: null };
  // 3. All causes are there: the mark goes.
  await archive.endPass();
  // 4. Sign what the archive is now.
  const signed = request.signer && (await signPass(archive, request.signer, signal));
  return { records, files, lost, head: archive.head(), signed };
}

/** What one pass copies, file by file. */
class Copy {
  records = 0;
  files = 0;
  readonly lost: LostRecords[] = [];
  readonly #archive: ArchiveWriter;
  readonly #request: ArchiveRequest;
  readonly #table: RecordTable;
  /** The file in hand. */
  #open: OpenRange | null = null;
  #names = collectNames();
  #partitionsDone = 0;

  constructor(archive: ArchiveWriter, request: ArchiveRequest, table: RecordTable) {
    this.#archive = archive;
    this.#request = request;
    this.#table = table;
  }

  /** Told to stop, what is in hand is left to the next pass. */
  async all(signal: AbortSignal): Promise<void> {
    const { log, now, onReached } = this.#request;
    for (const name of PARTITIONS) {
      const begunMs = now();
      try {
        for await (const record of newRecords(log, this.#archive, name, signal)) await this.#take(record);
      } catch (error) {
        if (!(error instanceof FleetGcError && error.code === 'INTERRUPTED')) throw error;
        this.#table.clear();
        return;
      }
      await this.#close();
      this.#partitionsDone += 1;
      onReached?.(name, begunMs);
    }
  }

  /** A file is closed before a record that does not belong into it. */
  async #take(record: LogRecord): Promise<void> {
    const { limits } = this.#request;
    const open = this.#open;
    if (open !== null && (closesBefore(open, record, limits) || isHole(open.lastOffset, record)))
      await this.#close();
    if (this.#open === null) await this.#noteGap(record);
    await this.#table.add(record);
    if (isNamedTopic(record.topic)) this.#names.add(record);
    this.#open = this.#open === null ? rangeOf(record) : extended(this.#open, record);
  }

  async #close(): Promise<void> {
    const range = this.#open;
    if (range === null) return;
    const index = isNamedTopic(range.topic) ? encodeNames(this.#names.lines()) : null;
    await this.#archive.addFile(range, { write: this.#table.writeParquet, names: index });
    this.#open = null;
    this.#names = collectNames();
    this.records += range.rows;
    this.files += 1;
    const { onFile, onReached, onProgress } = this.#request;
    onFile?.(range);
    onReached?.({ topic: range.topic, partition: range.partition }, range.lastMs);
    onProgress({ done: this.#partitionsDone, of: PARTITIONS.length, records: this.records });
  }

  async #noteGap(record: LogRecord): Promise<void> {
    const { topic, partition, offset } = record;
    const end = this.#archive.endOf(topic, partition);
    if (end === null || !isHole(end.lastOffset, record)) return;
    const lost = { topic, partition, firstOffset: end.lastOffset + 1n, lastOffset: offset - 1n };
    await this.#archive.addGap({
      topic,
      partition,
      firstOffset: String(lost.firstOffset),
      lastOffset: String(lost.lastOffset),
      notedAtMs: this.#request.now(),
    });
    this.lost.push(lost);
  }
}

/** Whether records are missing before this one. On a compacted topic newer ones took their place. */
const isHole = (lastOffset: bigint, { topic, offset }: LogRecord): boolean =>
  !isCompacted(topic) && offset > lastOffset + 1n;

/** Those that the archive does not have. The last one that it has is read again, to see that this is the same log. */
async function* newRecords(
  log: LogReader,
  archive: ArchiveWriter,
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
  if (!isEmpty || end === null) return;
  // Where retention deleted all, nothing is there; a topic that was made anew has records with lower offsets.
  for await (const event of log.read({ ...name, from: 'earliest', to: 'end' }, signal)) {
    if (event.kind === 'record' && event.record.offset <= end.lastOffset) throw anotherLog(event.record);
    return;
  }
}

function requireSameRecord(end: ArchivedEnd, record: LogRecord): void {
  if (record.offset === end.lastOffset && (end.lastMs === null || end.lastMs === record.timestampMs)) return;
  throw anotherLog(record);
}

const anotherLog = ({ topic, partition, offset }: LogRecord): FleetGcError =>
  new FleetGcError(
    'TOPICS_RECREATED',
    `${topic}/${partition}@${offset} is not what the archive has there: the topic was made anew, or this is another event log. Archive it to a new directory`,
  );
