import { readFile } from 'node:fs/promises';
import type { TopicName } from '../../schemas/events/topics.ts';
import { sha256Hex } from '../canonical/ids.ts';
import { recordBytes } from '../log/limits.ts';
import type { LogRecord, OutgoingRecord } from '../log/port.ts';
import { DAY_MS } from '../process/durations.ts';
import { FleetGcError } from '../process/errors.ts';
import { type KnownFile, requireManifest, unnamedOf } from './archive-files.ts';
import { privateFile } from './duckdb.ts';
import { FIRST_PART, fileName, namesFileName, UNFINISHED } from './file-names.ts';
import { type UnsignedHead, unsignedHead } from './heads.ts';
import {
  ARCHIVE_VERSION,
  type ArchivedFile,
  type ArchivedHead,
  type ArchiveGap,
  chained,
  type Manifest,
  type ManifestContent,
  type ManifestLine,
} from './manifest.ts';
import { NAMES_VERSION } from './names.ts';
import { openStore } from './open-store.ts';
import type { ArchivePlace, ArchiveStore, WritableStore } from './store.ts';

/** Where a partition ends in the archive. */
export interface ArchivedEnd {
  readonly lastOffset: bigint;
  /** When the log got that record; `null` when it was lost before it was archived. */
  readonly lastMs: number | null;
}

/** What a new archive needs from outside. */
export interface ArchiveSources {
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** A new unique id. */
  readonly newId: () => string;
}

/** What an archiver found in its archive, and has to answer for when it signs. */
export interface FoundArchive {
  readonly place: ArchivePlace;
  /** All lines of the manifest by now. */
  readonly lines: readonly ManifestLine[];
  /** So many of them were there when the archiver opened the archive; what came since it has written itself. */
  readonly found: number;
}

/** An archive in the hands of the one process that writes to it. */
export interface ArchiveWriter extends Disposable {
  /** `null` when the archive has nothing of the partition. */
  endOf(topic: TopicName, partition: number): ArchivedEnd | null;
  /** Adds a file: wholly, or not at all. After a failure the archive has to be opened anew, as after a kill. */
  addFile(range: OpenRange, content: FileContent): Promise<void>;
  addGap(gap: Omit<ArchiveGap, 'kind'>): Promise<void>;
  /** With what is added from here on, something may lack its causes, also after a kill, until a pass comes to its end. */
  beginPass(nowMs: number): void;
  endPass(): Promise<void>;
  /** What a head would say now; `null` where nothing came since the last one but heads. */
  unsigned(): UnsignedHead | null;
  /** The head as it lies on the log. */
  addHead(record: OutgoingRecord): Promise<void>;
  /** `null` once a head was added: all that it found is under that. */
  found(): FoundArchive | null;
  /** The hash of the last line: who keeps it elsewhere can prove that nothing before it was changed. */
  head(): string;
}

/**
 * Opens the archive, or begins one. What a killed archiver left half done is cleared away: it is still on the log. Throws
 * `STATE_IN_USE`, `STATE_UNWRITABLE` or `ARCHIVE_CHANGED`.
 */
export async function openArchiveWriter(
  place: ArchivePlace,
  sources: ArchiveSources,
): Promise<ArchiveWriter> {
  using opened = new DisposableStack();
  const store = opened.use(await openStore(place));
  const writable = opened.use(await store.openForWriting(sources.newId));
  const manifest = await foundManifest(store, writable, sources);
  await writable.clear({ manifest, unnamed: unnamedOf(await store.list(), manifest) });
  return writerOf({ place, manifest, store: writable }, opened.move());
}

async function foundManifest(
  store: ArchiveStore,
  writable: WritableStore,
  sources: ArchiveSources,
): Promise<Manifest> {
  const found = (await writable.readManifest()) ?? (await begunManifest(store, writable, sources));
  return requireManifest(store.name, found);
}

interface OpenedArchive {
  readonly place: ArchivePlace;
  readonly manifest: Manifest;
  readonly store: WritableStore;
}

function writerOf({ place, manifest, store }: OpenedArchive, closing: Disposable): ArchiveWriter {
  const { version } = manifest;
  const ends = endsOf(manifest);
  const lines = [...manifest.lines];
  let head = manifest.hashes.at(-1) ?? null;
  let passMs: number | null = null;
  let found: number | null = lines.length;

  const append = async (entry: ArchivedFile | ArchiveGap | ArchivedHead): Promise<void> => {
    const line = chained(entry, head);
    await store.append(line);
    head = line.hash;
    lines.push(line);
    if (entry.kind !== 'head') ends.set(`${entry.topic}/${entry.partition}`, endAfter(entry));
  };

  return {
    endOf: (topic, partition) => ends.get(`${topic}/${partition}`) ?? null,
    addFile: async (range, content) => {
      if (passMs !== null) await store.markPass(passMs);
      await append(await written({ store, version }, range, content));
    },
    addGap: (gap) => append({ kind: 'gap', ...gap }),
    beginPass: (nowMs) => {
      passMs = nowMs;
    },
    endPass: () => store.unmarkPass(),
    unsigned: () => unsignedHead(lines),
    addHead: async ({ key, headers, value }) => {
      await append({ kind: 'head', key, headers, valueBase64: value?.toString('base64') ?? '' });
      found = null;
    },
    found: () => (found === null ? null : { place, lines: [...lines], found }),
    head: () => head ?? '',
    [Symbol.dispose]: () => closing[Symbol.dispose](),
  };
}

const endAfter = (entry: ArchivedFile | ArchiveGap): ArchivedEnd => ({
  lastOffset: BigInt(entry.lastOffset),
  lastMs: entry.kind === 'file' ? entry.lastMs : null,
});

const endsOf = ({ entries }: Manifest): Map<string, ArchivedEnd> =>
  new Map(entries.map((entry) => [`${entry.topic}/${entry.partition}`, endAfter(entry)]));

/** Not over files that another archive left. Somebody else may begin at the same time: then it is his. */
async function begunManifest(
  store: ArchiveStore,
  writable: WritableStore,
  { now, newId }: ArchiveSources,
): Promise<Buffer> {
  const [file] = (await store.list()).filter((name) => !name.endsWith(UNFINISHED));
  const begun: ManifestContent = { kind: 'archive', version: ARCHIVE_VERSION, begunAtMs: now(), id: newId() };
  if (file === undefined) await writable.begin(chained(begun, null));
  const manifest = await writable.readManifest();
  if (manifest !== null) return manifest;
  throw new FleetGcError(
    'ARCHIVE_CHANGED',
    `${store.name} holds files such as ${file}, but no ${FIRST_PART}: name an empty place, or bring the manifest back`,
  );
}

/** Consecutive records of a partition that are to become one file. */
export interface OpenRange {
  readonly topic: TopicName;
  readonly partition: number;
  readonly firstOffset: bigint;
  readonly lastOffset: bigint;
  readonly rows: number;
  readonly rawBytes: number;
  readonly oldestMs: number;
  readonly newestMs: number;
  readonly lastMs: number;
}

/** What a file may hold at most; one larger record has a file of its own. */
export interface FileLimits {
  readonly rows: number;
  /** Before compression. A reader holds one file of each topic in memory; larger files would compress better. */
  readonly rawBytes: number;
}

/** @limit Rows and bytes of one archive file. */
const FILE_LIMITS: FileLimits = { rows: 100_000, rawBytes: 16 * 1024 * 1024 };

const dayOf = (epochMs: number): number => Math.floor(epochMs / DAY_MS);

/** A range of this record alone. */
export const rangeOf = (record: LogRecord): OpenRange => ({
  topic: record.topic,
  partition: record.partition,
  firstOffset: record.offset,
  lastOffset: record.offset,
  rows: 1,
  rawBytes: recordBytes(record),
  oldestMs: record.timestampMs,
  newestMs: record.timestampMs,
  lastMs: record.timestampMs,
});

/** The range with the next record. */
export const extended = (range: OpenRange, record: LogRecord): OpenRange => ({
  ...range,
  lastOffset: record.offset,
  rows: range.rows + 1,
  rawBytes: range.rawBytes + recordBytes(record),
  oldestMs: Math.min(range.oldestMs, record.timestampMs),
  newestMs: Math.max(range.newestMs, record.timestampMs),
  lastMs: record.timestampMs,
});

/** Whether the record begins a new file: another day (UTC) of the log's clock, or the file is full. */
export const closesBefore = (range: OpenRange, record: LogRecord, limits = FILE_LIMITS): boolean =>
  dayOf(record.timestampMs) !== dayOf(range.lastMs) ||
  range.rows >= limits.rows ||
  range.rawBytes + recordBytes(record) > limits.rawBytes;

interface FileContent {
  /** Writes the records. */
  readonly write: (path: string) => Promise<void>;
  /** The index of their names, where there is one. */
  readonly names: Buffer | null;
}

/** Where files are written. */
interface Target {
  readonly store: Pick<WritableStore, 'nameToken' | 'write'>;
  /** The form of the archive. */
  readonly version: number;
}

/** The names first: there is no file of records whose names are still to come. Throws `STATE_UNWRITABLE`. */
export async function written(
  { store, version }: Target,
  range: OpenRange,
  { write, names }: FileContent,
): Promise<ArchivedFile> {
  const { topic, partition, firstOffset, lastOffset, rawBytes: _, ...rest } = range;
  const content = await contentBy(write);
  const file = fileName(version, range, store.nameToken(names === null ? [content] : [content, names]));
  const indexed = names && (await placeFile(store, namesFileName(file), names));
  return {
    kind: 'file',
    file,
    ...(await placeFile(store, file, content)),
    topic,
    partition,
    firstOffset: String(firstOffset),
    lastOffset: String(lastOffset),
    ...rest,
    ...(indexed && { names: { version: NAMES_VERSION, ...indexed } }),
  };
}

/** What is written elsewhere: whoever can write to the archive could have something else signed. */
async function contentBy(write: FileContent['write']): Promise<Buffer> {
  await using file = await privateFile();
  await write(file.path);
  return await readFile(file.path);
}

async function placeFile(
  store: Target['store'],
  file: string,
  content: Buffer,
): Promise<Omit<KnownFile, 'file'>> {
  await store.write(file, content);
  return { sha256: sha256Hex(content), sizeBytes: content.length };
}
