import type { RecordedEvent, TimeRange } from '../../../packages/pipeline/read-log.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { createPeriodicYield } from '../../../packages/process/event-loop.ts';
import { TOPICS, type TopicId } from '../../../schemas/events/topics.ts';
import { namesInRange } from '../names/collect-names.ts';
import type { FoundNames, NameSearch, PartSearch } from '../names/name-index.ts';
import { NAMES_VERSION, type NameLines, searchNames } from '../names/name-lines.ts';
import { archiveChanged } from './archive-files.ts';
import { smallFileReader } from './check-archive.ts';
import { namesFileName } from './file-names.ts';
import type { ArchivedFile } from './manifest-entry.ts';

/** The files of an archive, and where they are. */
export interface ArchivedNames {
  readonly directory: string;
  readonly files: readonly ArchivedFile[];
}

/** As `NameIndex.search`. Throws `ARCHIVE_CHANGED` for an index that is not as it was written. */
export async function searchArchive(
  { directory, files }: ArchivedNames,
  { topics, range, texts }: NameSearch,
  signal: AbortSignal,
): Promise<readonly FoundNames[] | null> {
  const all = topics.map((topicId) => ({ topicId, files: inRange(files, topicId, range) }));
  if (all.some((one) => !one.files.every(hasNames))) return null;
  const wanted = all.flatMap((one) =>
    one.files.filter(hasNames).map((file) => ({ topicId: one.topicId, file })),
  );
  const read = namesReader(directory, { range, texts });
  return await readEach(wanted, read, signal);
}

/** As `NameIndex.lastNames`, of inventories. */
export async function lastNamesOf(
  { directory, files }: ArchivedNames,
  { range }: NameSearch,
  signal: AbortSignal,
): Promise<readonly FoundNames[]> {
  const lasts = new Map(inRange(files, 'inventory', range).map((file) => [file.partition, file]));
  const wanted = [...lasts.values()]
    .filter(hasNames)
    .map((file) => ({ topicId: 'inventory', file }) as const);
  return await readEach(wanted, namesReader(directory, { range, texts: null }), signal);
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

/** Each is small, and is read and unpacked at once: to wait for thousands of them takes longer than to read them. */
async function readEach<File>(
  files: readonly File[],
  read: (file: File) => FoundNames,
  signal: AbortSignal,
): Promise<readonly FoundNames[]> {
  const yieldToEventLoop = createPeriodicYield(() => performance.now());
  const found: FoundNames[] = [];
  for (const file of files) {
    signal.throwIfAborted();
    found.push(read(file));
    await yieldToEventLoop();
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

/** Reads what indexes say, one after the other. */
function namesReader(
  directory: string,
  { range: { fromMs, toMs }, texts }: Pick<NameSearch, 'range' | 'texts'>,
): (wanted: WantedNames) => FoundNames {
  const readFile = smallFileReader(directory);
  return ({ topicId, file: { file, names, partition, rows, oldestMs, newestMs } }) => {
    const name = namesFileName(file);
    const read = readFile({ ...names, file: name });
    if (!read.ok) throw archiveChanged(directory, read.problem);
    return {
      name,
      topicId,
      partition,
      isCut: (fromMs !== null && oldestMs < fromMs) || (toMs !== null && newestMs >= toMs),
      records: rows,
      ...namesIn(directory, { name, content: read.content }, texts),
    };
  };
}

/** Who forges the manifest, too, can put anything in the place of an index. */
function namesIn(
  directory: string,
  { name, content }: { readonly name: string; readonly content: Buffer },
  texts: readonly string[] | null,
): NameLines {
  try {
    return searchNames(content, texts);
  } catch (error) {
    if (!(error instanceof FleetGcError)) throw error;
    throw archiveChanged(directory, `${name} was changed: ${error.message}`);
  }
}
