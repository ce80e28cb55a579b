import { TOPICS, type TopicId } from '../../schemas/events/topics.ts';
import { FleetGcError } from '../process/errors.ts';
import { createPeriodicYield } from '../process/event-loop.ts';
import type { RecordedEvent, TimeRange } from '../records/read-log.ts';
import { archiveChanged, type FileRead, readKnownFiles } from './archive-files.ts';
import { namesInRange } from './collect-names.ts';
import { namesFileName } from './file-names.ts';
import type { ArchivedFile } from './manifest.ts';
import {
  type FoundNames,
  NAMES_VERSION,
  type NameLines,
  type NameSearch,
  type PartSearch,
  searchNames,
} from './names.ts';
import type { ArchiveStore } from './store.ts';

/** The files of an archive, and where they are. */
interface ArchivedNames {
  readonly store: ArchiveStore;
  readonly files: readonly ArchivedFile[];
}

/** As `NameIndex.search`. Throws `ARCHIVE_CHANGED` for an index that is not as it was written. */
export async function searchArchive(
  { store, files }: ArchivedNames,
  { topics, range, texts }: NameSearch,
  signal: AbortSignal,
): Promise<readonly FoundNames[] | null> {
  const all = topics.map((topicId) => ({ topicId, files: inRange(files, topicId, range) }));
  if (all.some((one) => !one.files.every(hasNames))) return null;
  const wanted = all.flatMap((one) =>
    one.files.filter(hasNames).map((file) => ({ topicId: one.topicId, file })),
  );
  return await readEach(store, wanted, { range, texts }, signal);
}

/** As `NameIndex.lastNames`, of inventories. */
export async function lastNamesOf(
  { store, files }: ArchivedNames,
  { range }: NameSearch,
  signal: AbortSignal,
): Promise<readonly FoundNames[]> {
  const lasts = new Map(inRange(files, 'inventory', range).map((file) => [file.partition, file]));
  const wanted = [...lasts.values()]
    .filter(hasNames)
    .map((file) => ({ topicId: 'inventory', file }) as const);
  return await readEach(store, wanted, { range, texts: null }, signal);
}

/** The records of some nodes in one file, as far as they lie in a range. */
export type ReadPart = (
  file: ArchivedFile,
  topicId: TopicId,
  part: Pick<PartSearch, 'range' | 'keys'>,
) => AsyncIterable<RecordedEvent>;

/** As `NameIndex.withinRange`. A file stays as it is where times that step back leave open what of it lies in the range. */
export async function namesWithin(
  files: readonly ArchivedFile[],
  found: readonly FoundNames[],
  { search, readPart }: { readonly search: PartSearch; readonly readPart: ReadPart },
): Promise<readonly FoundNames[]> {
  const byName = new Map(files.map((file) => [namesFileName(file.file), file]));
  const within: FoundNames[] = [];
  for (const one of found) {
    const file = byName.get(one.name);
    const isWanted = one.isCut && one.nodes.written.some((key) => search.keys.has(key));
    const isRead = isWanted && file !== undefined && isClearlyCut(file, files, { ...one, ...search });
    within.push(isRead ? await namesInRange(one, readPart(file, one.topicId, search), search) : one);
  }
  return within;
}

/** Whether the range begins in no file but the first, and ends in no file but the last. */
function isClearlyCut(
  file: ArchivedFile,
  files: readonly ArchivedFile[],
  { topicId, range }: { readonly topicId: TopicId; readonly range: TimeRange },
): boolean {
  const { fromMs, toMs } = range;
  const alike = inRange(files, topicId, range).filter(({ partition }) => partition === file.partition);
  const begins = fromMs !== null && file.oldestMs < fromMs;
  const ends = toMs !== null && file.newestMs >= toMs;
  return (!begins || alike.at(0) === file) && (!ends || alike.at(-1) === file);
}

type Searched = Pick<NameSearch, 'range' | 'texts'>;

/** What the indexes say, in order. Each is small. */
async function readEach(
  store: ArchiveStore,
  wanted: readonly WantedNames[],
  search: Searched,
  signal: AbortSignal,
): Promise<readonly FoundNames[]> {
  const yieldToEventLoop = createPeriodicYield(() => performance.now());
  const found: FoundNames[] = [];
  const known = wanted.map(({ file: { file, names } }) => ({ ...names, file: namesFileName(file) }));
  signal.throwIfAborted();
  for await (const read of readKnownFiles(store, known)) {
    const next = wanted[found.length];
    if (next !== undefined) found.push(foundNames(store.name, next, { ...search, read }));
    await yieldToEventLoop();
    signal.throwIfAborted();
  }
  return found;
}

/** A file of records with an index that this release knows. */
type NamedFile = ArchivedFile & { readonly names: NonNullable<ArchivedFile['names']> };
const hasNames = (file: ArchivedFile): file is NamedFile => file.names?.version === NAMES_VERSION;

/** By partition, in the order of the log: those from which a reading of that range can take something. */
function inRange(files: readonly ArchivedFile[], topicId: TopicId, { fromMs, toMs }: TimeRange) {
  const begun = new Set<number>();
  return files.filter(({ topic, partition, oldestMs, newestMs }) => {
    if (topic !== TOPICS[topicId].name) return false;
    if (fromMs === null || newestMs >= fromMs) begun.add(partition);
    return begun.has(partition) && (toMs === null || oldestMs < toMs);
  });
}

interface WantedNames {
  readonly topicId: TopicId;
  readonly file: NamedFile;
}

function foundNames(
  archive: string,
  { topicId, file: { file, partition, rows, oldestMs, newestMs } }: WantedNames,
  { range: { fromMs, toMs }, texts, read }: Searched & { readonly read: FileRead },
): FoundNames {
  if (!read.ok) throw archiveChanged(archive, read.problem);
  const name = namesFileName(file);
  return {
    name,
    topicId,
    partition,
    isCut: (fromMs !== null && oldestMs < fromMs) || (toMs !== null && newestMs >= toMs),
    records: rows,
    ...namesIn(archive, { name, content: read.content }, texts),
  };
}

/** Who forges the manifest, too, can put anything in the place of an index. */
function namesIn(
  archive: string,
  { name, content }: { readonly name: string; readonly content: Buffer },
  texts: readonly string[] | null,
): NameLines {
  try {
    return searchNames(content, texts);
  } catch (error) {
    if (!(error instanceof FleetGcError)) throw error;
    throw archiveChanged(archive, `${name} was changed: ${error.message}`);
  }
}
