import { DuckDBBlobVector, type DuckDBDataChunk } from '@duckdb/node-api';
import { z } from 'zod';
import { withNewFile, writeAll } from '../files/open-file.ts';
import { requirePartition } from '../log/partition.ts';
import type { LogRecord, ReadEvent, ReadFrom, ReadRequest } from '../log/port.ts';
import { interrupted } from '../log/stopping.ts';
import { FleetGcError } from '../process/errors.ts';
import { type RecordedLog, readPartition } from '../records/read-log.ts';
import { archiveChanged, readKnownFile, requireManifest, unfinishedPassMs } from './archive-files.ts';
import { lastNamesOf, namesWithin, type ReadPart, searchArchive } from './archived-names.ts';
import { begunAhead } from './begun-ahead.ts';
import { type Duck, openDuckDb, type PrivateFile, privateFile, sqlText } from './duckdb.ts';
import { type ArchivedFile, filesOf, type ManifestLine } from './manifest.ts';
import type { NameIndex } from './names.ts';
import { openStore } from './open-store.ts';
import type { ArchivePlace, ArchiveStore } from './store.ts';

/** An archive, read as the event log that it was made of. */
export interface ArchiveLog extends RecordedLog {
  readonly index: NameIndex;
  /** Every line of the manifest, as it was when the archive was opened. */
  readonly lines: readonly ManifestLine[];
  /** When an archiver began a pass that has not come to its end; `null`: nothing lacks its causes. */
  readonly passBegunMs: number | null;
}

/**
 * Opens an archive for reading. Throws `NOT_FOUND` or `ARCHIVE_CHANGED`; so does a reading that comes to a file that is
 * not as it was written.
 */
export async function openArchiveLog(place: ArchivePlace): Promise<ArchiveLog> {
  using opened = new DisposableStack();
  const store = opened.use(await openStore(place));
  // A pass may end, or another begin, while the manifest is read.
  const before = await unfinishedPassMs(store);
  const manifest = requireManifest(store.name, await store.readManifest());
  const files = filesOf(manifest);
  const passBegunMs = before ?? (await unfinishedPassMs(store));
  const duck = openDuckDb();
  const archive = { store, files, duck };
  const closing = opened.move();
  return {
    lines: manifest.lines,
    passBegunMs,
    read: (request, signal) => readFiles({ ...archive, keys: null }, request, signal),
    index: {
      search: (search, signal) => searchArchive({ store, files }, search, signal),
      withinRange: (found, search, signal) =>
        namesWithin(files, found, { search, readPart: partReader(archive, signal) }),
      lastNames: (search, signal) => lastNamesOf({ store, files }, search, signal),
      ofNodes: (keys) => ({ read: (request, signal) => readFiles({ ...archive, keys }, request, signal) }),
    },
    [Symbol.asyncDispose]: async () => {
      closing.dispose();
      await duck[Symbol.asyncDispose]();
    },
  };
}

interface OpenArchive {
  readonly store: ArchiveStore;
  readonly files: readonly ArchivedFile[];
  readonly duck: Duck;
  /** Records with other keys are left out; `null`: with any. */
  readonly keys: readonly string[] | null;
}

const partReader =
  (archive: Omit<OpenArchive, 'keys'>, signal: AbortSignal): ReadPart =>
  (file, topicId, { range, keys }) => {
    const part = { ...archive, files: [file], keys: [...keys] };
    const log: Pick<RecordedLog, 'read'> = { read: (request) => readFiles(part, request, signal) };
    return readPartition(log, { topics: [topicId], partition: file.partition, range }, signal);
  };

async function* readFiles(
  archive: OpenArchive,
  request: ReadRequest,
  signal?: AbortSignal,
): AsyncGenerator<ReadEvent, void> {
  requirePartition(request.topic, request.partition);
  if (request.to === 'forever')
    throw new FleetGcError(
      'USAGE',
      'an archive does not grow while it is read: follow the event log instead',
    );
  const files = [...filesFrom(archive.files, request)];
  if (files.length > 0) yield* recordsIn(archive, { request, files }, signal);
  if (signal?.aborted) throw interrupted();
  yield { kind: 'caught-up' };
}

interface FilesReading {
  readonly request: ReadRequest;
  readonly files: readonly (readonly [ArchivedFile, ReadFrom])[];
}

async function* recordsIn(
  archive: OpenArchive,
  { request, files }: FilesReading,
  signal?: AbortSignal,
): AsyncGenerator<ReadEvent, void> {
  const read = ([file, from]: (typeof files)[number]) => readFile({ archive, file, from, request });
  for await (const records of begunAhead(files, archive.keys === null ? 0 : FILES_AHEAD, read)) {
    // Each is let go of when it was given away: of the file in hand only what is still to come is in memory.
    for (let record = records.pop(); record !== undefined; record = records.pop()) {
      if (signal?.aborted) return;
      yield { kind: 'record', record };
    }
  }
}

/** The files that a reading goes through, in order; only the first of a partition is not read from its beginning. */
function* filesFrom(
  files: readonly ArchivedFile[],
  { topic, partition, from }: ReadRequest,
): Iterable<readonly [ArchivedFile, ReadFrom]> {
  const wanted = files
    .filter((file) => file.topic === topic && (partition === undefined || file.partition === partition))
    .toSorted((one, other) => one.partition - other.partition);
  const begun = new Set<number>();
  for (const file of wanted) {
    const isBegun = begun.has(file.partition);
    if (!isBegun && !reaches(file, from)) continue;
    begun.add(file.partition);
    yield [file, isBegun ? 'earliest' : from];
  }
}

function reaches({ lastOffset, newestMs }: ArchivedFile, from: ReadFrom): boolean {
  if (from === 'earliest') return true;
  return 'offset' in from ? BigInt(lastOffset) >= from.offset : newestMs >= from.timestampMs;
}

interface FileReading {
  readonly archive: OpenArchive;
  readonly file: ArchivedFile;
  readonly from: ReadFrom;
  readonly request: ReadRequest;
}

/**
 * Of each topic, for the records of some nodes: the next file is checked and read while one is used. A file may hold 16 MiB of
 * records, and seven topics are read side by side: with the records of all nodes that would be too much to hold.
 */
const FILES_AHEAD = 1;

/** The row as it comes, without its value: nothing in it is taken for granted. */
const Row = z.tuple([z.bigint(), z.bigint(), z.string().nullable(), z.string()]);
const ROW_COLUMNS = [0, 1, 2, 3];
const VALUE_COLUMN = 4;
const Values = z.instanceof(DuckDBBlobVector);

const Headers = z.record(z.string(), z.string());

/** What is read is what was compared with the manifest. */
async function checkedCopy(store: ArchiveStore, file: ArchivedFile): Promise<PrivateFile> {
  const read = await readKnownFile(store, file);
  if (!read.ok) throw archiveChanged(store.name, read.problem);
  await using opened = new AsyncDisposableStack();
  const copy = opened.use(await privateFile());
  withNewFile(copy.path, (file) => writeAll(file, read.content));
  opened.move();
  return copy;
}

/**
 * The records of a file, the last first. They lie in it by node, and are sorted here: DuckDB would hold all of them several times
 * to do it, until the last of them was used.
 */
async function readFile({ archive, file, from, request }: FileReading): Promise<LogRecord[]> {
  await using copy = await checkedCopy(archive.store, file);
  const source = `read_parquet(${sqlText(copy.path)}, hive_partitioning = false)`;
  using connection = await archive.duck.connect();
  const result = await connection.stream(
    `SELECT "offset", epoch_ms(time), key, headers, value FROM ${source} WHERE ${condition(source, from)} AND ${keyCondition(archive.keys)}`,
  );
  const { topic } = request;
  const { partition } = file;
  const records: LogRecord[] = [];
  for await (const chunk of result)
    for (let row = 0; row < chunk.rowCount; row += 1)
      records.push({ topic, partition, ...fieldsOf(chunk, row) });
  return records.sort((a, b) => Number(b.offset - a.offset));
}

function fieldsOf(chunk: DuckDBDataChunk, row: number): Omit<LogRecord, 'topic' | 'partition'> {
  const fields = ROW_COLUMNS.map((column) => chunk.getColumnVector(column).getItem(row));
  const [offset, timeMs, key, headers] = Row.parse(fields);
  const value = Values.parse(chunk.getColumnVector(VALUE_COLUMN)).getItemBytes(row);
  return {
    offset,
    timestampMs: Number(timeMs),
    key,
    headers: Headers.parse(JSON.parse(headers)),
    value: value === null ? null : bufferOf(value),
  };
}

/** DuckDB gives what is so short as a view of its own memory, and all else in memory that is nobody else's. */
const MOST_INLINE_BYTES = 12;

const bufferOf = (bytes: Uint8Array): Buffer =>
  bytes.length <= MOST_INLINE_BYTES
    ? Buffer.from(bytes)
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);

const keyCondition = (keys: OpenArchive['keys']): string =>
  keys === null ? 'true' : `key IN (${keys.map(sqlText).join(', ')})`;

/** Times may step back, so all that comes after the first record at that time is read. */
function condition(source: string, from: ReadFrom): string {
  if (from === 'earliest') return 'true';
  if ('offset' in from) return `"offset" >= ${from.offset}`;
  return `"offset" >= (SELECT min("offset") FROM ${source} WHERE epoch_ms(time) >= ${Math.ceil(from.timestampMs)})`;
}
