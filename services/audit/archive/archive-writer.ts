import { appendFileSync, existsSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OutgoingRecord } from '../../../packages/event-log/port.ts';
import { lockFile } from '../../../packages/files/file-lock.ts';
import { makeDirectories } from '../../../packages/files/make-directories.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import type { TopicName } from '../../../schemas/events/topics.ts';
import {
  isNextFile,
  LOCK_FILE,
  MANIFEST_FILE,
  PASS_FILE,
  recordFiles,
  requireManifest,
  syncToDisk,
  UNFINISHED,
  unnamedFiles,
} from './archive-files.ts';
import { isFileName, recordsFileName } from './file-names.ts';
import type { FoundArchive } from './found-lines.ts';
import type { Manifest } from './manifest.ts';
import {
  ARCHIVE_VERSION,
  type ArchivedFile,
  type ArchivedHead,
  type ArchiveGap,
  chained,
  type ManifestContent,
} from './manifest-entry.ts';
import type { OpenRange } from './open-ranges.ts';
import { type FileContent, unwritable, written } from './place-files.ts';
import { type UnsignedHead, unsignedHead } from './unsigned-head.ts';

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

/** An archive in the hands of the one process that writes to it. */
export interface ArchiveWriter extends Disposable {
  /** `null` when the archive has nothing of the partition. */
  endOf(topic: TopicName, partition: number): ArchivedEnd | null;
  /** Adds a file: wholly, or not at all. After a failure the archive has to be opened anew, as after a kill. */
  addFile(range: OpenRange, content: FileContent): Promise<void>;
  addGap(gap: Omit<ArchiveGap, 'kind'>): void;
  /** With what is added from here on, something may lack its causes, also after a kill, until a pass comes to its end. */
  beginPass(nowMs: number): void;
  endPass(): void;
  /** What a head would say now; `null` where nothing came since the last one but heads. */
  unsigned(): UnsignedHead | null;
  /** The head as it lies on the log. */
  addHead(record: OutgoingRecord): void;
  /** `null` once a head was added: all that it found is under that. */
  found(): FoundArchive | null;
  /** The hash of the last line: who keeps it elsewhere can prove that nothing before it was changed. */
  head(): string;
}

/**
 * Opens the archive in a directory, or begins one. What a killed archiver left half done is cleared away: it is still on
 * the log. Throws `STATE_IN_USE`, `STATE_UNWRITABLE` or `ARCHIVE_CHANGED`.
 */
export async function openArchiveWriter(directory: string, sources: ArchiveSources): Promise<ArchiveWriter> {
  const problem = makeDirectories(directory);
  if (problem !== null)
    throw new FleetGcError('STATE_UNWRITABLE', `cannot write an archive to ${directory}: ${problem}`);
  using opened = new DisposableStack();
  opened.use(lockFile(join(directory, LOCK_FILE), (cause) => inUse(directory, cause)));
  if (!existsSync(join(directory, MANIFEST_FILE))) await beginArchive(directory, sources);
  const manifest = await requireManifest(directory);
  await clearUnfinished(directory, manifest);
  return writerOf(directory, manifest, opened.move());
}

function writerOf(directory: string, manifest: Manifest, lock: Disposable): ArchiveWriter {
  const ends = endsOf(manifest);
  const lines = [...manifest.lines];
  let head = manifest.hashes.at(-1) ?? null;
  let passMs: number | null = null;
  let found: number | null = lines.length;

  const append = (entry: ArchivedFile | ArchiveGap | ArchivedHead): void => {
    const line = chained(entry, head);
    try {
      appendFileSync(join(directory, MANIFEST_FILE), lineText(line), { flush: true });
    } catch (cause) {
      throw unwritable(directory, cause);
    }
    head = line.hash;
    lines.push(line);
    if (entry.kind !== 'head') ends.set(`${entry.topic}/${entry.partition}`, endAfter(entry));
  };

  return {
    endOf: (topic, partition) => ends.get(`${topic}/${partition}`) ?? null,
    addFile: async (range, content) => {
      notePass(directory, passMs);
      append(await written(directory, range, content));
    },
    addGap: (gap) => append({ kind: 'gap', ...gap }),
    beginPass: (nowMs) => {
      passMs = nowMs;
    },
    endPass: () => rmSync(join(directory, PASS_FILE), { force: true }),
    unsigned: () => unsignedHead(lines),
    addHead: ({ key, headers, value }) => {
      append({ kind: 'head', key, headers, valueBase64: value?.toString('base64') ?? '' });
      found = null;
    },
    found: () => (found === null ? null : { directory, lines: [...lines], found }),
    head: () => head ?? '',
    [Symbol.dispose]: () => lock[Symbol.dispose](),
  };
}

/** The first that did not come to its end counts. Throws `STATE_UNWRITABLE`. */
function notePass(directory: string, beganMs: number | null): void {
  const path = join(directory, PASS_FILE);
  if (beganMs === null || existsSync(path)) return;
  try {
    writeFileSync(path, String(beganMs), { flush: true });
  } catch (cause) {
    throw unwritable(directory, cause);
  }
}

const lineText = (line: unknown): string => `${JSON.stringify(line)}\n`;

const endAfter = (entry: ArchivedFile | ArchiveGap): ArchivedEnd => ({
  lastOffset: BigInt(entry.lastOffset),
  lastMs: entry.kind === 'file' ? entry.lastMs : null,
});

const endsOf = ({ entries }: Manifest): Map<string, ArchivedEnd> =>
  new Map(entries.map((entry) => [`${entry.topic}/${entry.partition}`, endAfter(entry)]));

/** Not over files that another archive left. */
async function beginArchive(directory: string, { now, newId }: ArchiveSources): Promise<void> {
  const [file] = (await recordFiles(directory)).filter((name) => !name.endsWith(UNFINISHED));
  if (file !== undefined)
    throw new FleetGcError(
      'ARCHIVE_CHANGED',
      `${directory} holds files such as ${file}, but no ${MANIFEST_FILE}: name an empty directory, or bring the manifest back`,
    );
  const begun: ManifestContent = { kind: 'archive', version: ARCHIVE_VERSION, begunAtMs: now(), id: newId() };
  const path = join(directory, MANIFEST_FILE);
  writeFileSync(`${path}${UNFINISHED}`, lineText(chained(begun, null)), { flush: true });
  renameSync(`${path}${UNFINISHED}`, path);
  syncToDisk(directory);
}

/**
 * A kill leaves half a line, files that are not whole, and at most one whole file, with its names, without a line: its
 * range comes next, and the new file takes its place.
 */
async function clearUnfinished(directory: string, manifest: Manifest): Promise<void> {
  const unnamed = await unnamedFiles(directory, manifest);
  const whole = unnamed.filter(isFileName);
  if (new Set(whole.map(recordsFileName)).size > 1 || whole.some((file) => !isNextFile(file, manifest)))
    throw new FleetGcError(
      'ARCHIVE_CHANGED',
      `the archive in ${directory} has files that its manifest does not name, such as ${whole.at(-1)}: lines of the manifest were lost. "fleetgc audit archive check --archive ${directory}" lists them; bring the manifest back, or begin a new archive in another directory`,
    );
  truncateSync(join(directory, MANIFEST_FILE), manifest.wholeBytes);
  const half = unnamed.filter((name) => name.endsWith(UNFINISHED) && name !== PASS_FILE);
  for (const file of half) rmSync(join(directory, file));
}

const inUse = (directory: string, cause: unknown): FleetGcError =>
  new FleetGcError(
    'STATE_IN_USE',
    `another process writes to the archive in ${directory} already: let that one end, or name another directory with --to`,
    { cause },
  );
