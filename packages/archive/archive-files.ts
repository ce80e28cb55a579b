import { sha256Hex } from '../canonical/ids.ts';
import { FleetGcError } from '../process/errors.ts';
import { type FileStart, namesFileName, startInName } from './file-names.ts';
import { filesOf, isCompacted, KNOWN_VERSIONS, type Manifest, readManifest } from './manifest.ts';
import type { ArchiveStore, FoundFiles, StoredContent } from './store.ts';

/** When the pass began that did not come to its end, epoch milliseconds; `null` when there is none. Rejects when nobody can tell. */
export async function unfinishedPassMs(store: ArchiveStore): Promise<number | null> {
  const marks = await store.passMarks();
  return marks.length === 0 ? null : Math.min(...marks.map(markedMs));
}

/** A mark that says nothing says still that something is not done. */
const markedMs = (mark: string): number => (/^\d{1,15}$/.test(mark) ? Number(mark) : 0);

/** A file as the manifest knows it. */
export interface KnownFile {
  readonly file: string;
  readonly sha256: string;
  readonly sizeBytes: number;
}

/** Every file that the manifest names. */
export const knownFiles = (manifest: Manifest): readonly KnownFile[] =>
  filesOf(manifest).flatMap((archived) => {
    const { file, names } = archived;
    return names === undefined ? [archived] : [archived, { ...names, file: namesFileName(file) }];
  });

/** Throws `NOT_FOUND` when there is no archive. */
export const loadManifest = async (store: ArchiveStore): Promise<Manifest> =>
  readManifest(await store.readManifest());

/** Throws `ARCHIVE_CHANGED` for a manifest that is not as it was written, and `ARCHIVE_OF_ANOTHER_RELEASE`. */
export function requireManifest(name: string, content: Buffer): Manifest {
  const manifest = readManifest(content);
  const { otherVersion, problems } = manifest;
  if (otherVersion !== null && problems.length === 1) throw otherRelease(name, otherVersion);
  requireUnchanged(name, manifest.problems);
  return manifest;
}

/** Throws `ARCHIVE_CHANGED` with the first problem. */
export function requireUnchanged(name: string, [problem]: readonly string[]): void {
  if (problem !== undefined) throw archiveChanged(name, problem);
}

const otherRelease = (name: string, version: number): FleetGcError =>
  new FleetGcError(
    'ARCHIVE_OF_ANOTHER_RELEASE',
    `the archive in ${name} says that another release of FleetGC wrote it: its version is ${version}, and this release reads ${KNOWN_VERSIONS.join(' and ')}. Read it with that release, or name another place to begin a new one`,
  );

/** `problem` says what of it. */
export const archiveChanged = (name: string, problem: string): FleetGcError =>
  new FleetGcError(
    'ARCHIVE_CHANGED',
    `the archive in ${name} is not as it was written: ${problem}. "fleetgc audit archive check --archive ${name}" lists everything; take the archive from a copy, or begin a new one in another place`,
  );

/** Those that the manifest does not name. */
export function unnamedOf(files: readonly string[], manifest: Manifest): readonly string[] {
  const named = new Set(knownFiles(manifest).map(({ file }) => file));
  return files.filter((file) => !named.has(file));
}

export type FileRead =
  | { readonly ok: true; readonly content: Buffer }
  | { readonly ok: false; readonly problem: string };

/** No archive has a larger file: nobody who forges a manifest has more read into memory. */
const LARGEST_FILE_BYTES = 64 * 1024 * 1024;

/** The bytes of a file that is as it was written, or what is wrong with it. */
export async function readKnownFile(store: ArchiveStore, known: KnownFile): Promise<FileRead> {
  if (known.sizeBytes > LARGEST_FILE_BYTES) return tooLarge(known);
  return asWritten(known, await store.read(known));
}

/** The same for many small files, in order. A content is there until the next is asked for. */
export async function* readKnownFiles(
  store: ArchiveStore,
  known: readonly KnownFile[],
): AsyncGenerator<FileRead, void> {
  const large = known.find(({ sizeBytes }) => sizeBytes > LARGEST_FILE_BYTES);
  if (large !== undefined) return yield tooLarge(large);
  let next = 0;
  for await (const content of store.readEach(known)) {
    const file = known[next];
    next += 1;
    if (file !== undefined) yield asWritten(file, content);
  }
}

function asWritten({ file, sizeBytes, sha256 }: KnownFile, stored: StoredContent): FileRead {
  if (stored.kind === 'missing') return wrong(`${file} is missing`);
  if (stored.kind === 'unreadable') return wrong(`${file} cannot be read: ${stored.why}`);
  const found = stored.kind === 'other-size' ? stored.sizeBytes : stored.content.length;
  if (stored.kind === 'other-size' || found !== sizeBytes)
    return wrong(`${file} was changed: it has ${found} bytes instead of ${sizeBytes}`);
  return sha256Hex(stored.content) === sha256
    ? { ok: true, content: stored.content }
    : wrong(`${file} was changed: its SHA-256 is not ${sha256}`);
}

const tooLarge = ({ file, sizeBytes }: KnownFile): FileRead =>
  wrong(`${file} is said to have ${sizeBytes} bytes, and no file of an archive is so large`);

const wrong = (problem: string): FileRead => ({ ok: false, problem });

/**
 * Whether the files that the manifest does not name can be what killed archivers left: whole files of at most so many ranges, each
 * of which comes next in its partition. Throws `ARCHIVE_CHANGED` otherwise: then lines of the manifest were lost.
 */
export function requireLeftovers(name: string, { manifest, unnamed }: FoundFiles, mostRanges: number): void {
  const whole = unnamed.filter((file) => startInName(file) !== null);
  const ranges = new Set(whole.map(rangeText));
  if (ranges.size <= mostRanges && whole.every((file) => isNextFile(file, manifest))) return;
  throw new FleetGcError(
    'ARCHIVE_CHANGED',
    `the archive in ${name} has files that its manifest does not name, such as ${whole.at(-1)}: lines of the manifest were lost. "fleetgc audit archive check --archive ${name}" lists them; bring the manifest back, or begin a new archive in another place`,
  );
}

function rangeText(file: string): string {
  const start = startInName(file);
  return `${start?.topic}/${start?.partition}@${start?.firstOffset}`;
}

/** Whether a file of this name may be the one that comes next in its partition. */
function isNextFile(file: string, manifest: Manifest): boolean {
  const start = startInName(file);
  const last = start === null ? null : lastOffset(start, manifest);
  if (start === null || last === null) return true;
  return isCompacted(start.topic) ? start.firstOffset > last : start.firstOffset === last + 1n;
}

/** Whether the records of a file, from the first on, are in the archive under another name. */
export function isCovered(file: string, manifest: Manifest): boolean {
  const start = startInName(file);
  const last = start === null ? null : lastOffset(start, manifest);
  return start !== null && last !== null && start.firstOffset <= last;
}

function lastOffset(start: FileStart, { entries }: Manifest): bigint | null {
  const end = entries.findLast(
    ({ topic, partition }) => topic === start.topic && partition === start.partition,
  );
  return end === undefined ? null : BigInt(end.lastOffset);
}
