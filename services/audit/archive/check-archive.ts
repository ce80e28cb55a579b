import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256Hex } from '../../../packages/canonical/ids.ts';
import {
  type KnownFile,
  knownFiles,
  loadManifest,
  MANIFEST_FILE,
  UNFINISHED,
  unnamedFiles,
} from './archive-files.ts';
import { isFileName } from './file-names.ts';
import { filesOf, type Manifest } from './manifest.ts';
import type { ArchiveGap } from './manifest-entry.ts';

/** What an archive was found to be. */
export interface ArchiveFindings {
  /** What was changed, added or removed, a sentence each. */
  readonly deviations: readonly string[];
  /** Records that were lost before they could be archived; the archive says so itself. */
  readonly gaps: readonly ArchiveGap[];
  /** Left by an archiver that was killed; the next run clears it away. */
  readonly unfinished: readonly string[];
  readonly files: number;
  readonly records: number;
  readonly sizeBytes: number;
  /** The hash of the last line; `null` where there is none. */
  readonly head: string | null;
}

export interface CheckProgress {
  readonly done: number;
  readonly of: number;
}

export interface ArchiveCheck {
  readonly directory: string;
  /** A head that was noted earlier and elsewhere: whoever changes the archive cannot change that too. */
  readonly expectedHead: string | null;
  readonly onProgress: (progress: CheckProgress) => void;
}

/** Reads the whole archive, and finds what is not as it was written. Throws `NOT_FOUND` when there is none. */
export async function checkArchive(check: ArchiveCheck, signal: AbortSignal): Promise<ArchiveFindings> {
  const { directory, expectedHead } = check;
  const manifest = await loadManifest(directory);
  const files = filesOf(manifest);
  const unnamed = await unnamedFiles(directory, manifest);
  return {
    deviations: [
      ...manifest.problems,
      ...headProblems(manifest, expectedHead),
      ...(await changedFiles(check, knownFiles(manifest), signal)),
      ...unnamed.filter((file) => !file.endsWith(UNFINISHED)).map(addedText),
    ],
    gaps: manifest.entries.filter((entry) => entry.kind === 'gap'),
    unfinished: [
      ...unnamed.filter((file) => file.endsWith(UNFINISHED)),
      ...(manifest.isWhole ? [] : [`the last line of ${MANIFEST_FILE}`]),
    ],
    files: files.length,
    records: files.reduce((sum, { rows }) => sum + rows, 0),
    sizeBytes: knownFiles(manifest).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    head: manifest.hashes.at(-1) ?? null,
  };
}

const addedText = (file: string): string =>
  isFileName(file)
    ? `${file} was added: the manifest does not name it (an archiver that was killed can leave one such file; "fleetgc audit archive" then writes it anew)`
    : `${file} was added: it does not belong there, no file of an archive has such a name`;

const headProblems = ({ hashes }: Manifest, expected: string | null): readonly string[] =>
  expected === null || hashes.includes(expected)
    ? []
    : [
        `no line of the manifest has the hash ${expected}: lines up to it were changed or removed, or this is another archive`,
      ];

/** What is wrong with files, a sentence each. Each is read whole, one after the other. */
export async function changedFiles(
  { directory, onProgress }: Pick<ArchiveCheck, 'directory' | 'onProgress'>,
  files: readonly KnownFile[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const [done, file] of files.entries()) {
    signal.throwIfAborted();
    onProgress({ done, of: files.length });
    const problem = await fileProblem(directory, file);
    if (problem !== null) problems.push(problem);
  }
  return problems;
}

/** What is wrong with a file of the archive; `null` when it is as it was written. */
async function fileProblem(directory: string, file: KnownFile): Promise<string | null> {
  const read = await readKnownFile(directory, file);
  return read.ok ? null : read.problem;
}

type FileRead =
  | { readonly ok: true; readonly content: Buffer }
  | { readonly ok: false; readonly problem: string };

/** The bytes of a file that is as it was written, or what is wrong with it. */
export async function readKnownFile(directory: string, known: KnownFile): Promise<FileRead> {
  try {
    return asWritten(known, await readFile(join(directory, known.file)));
  } catch (error) {
    return unreadable(known, error);
  }
}

/**
 * The same for thousands of small files, one after the other, and quicker; whoever reads them lets others have their turn in
 * between. A content is there until the next is read: all use the same memory.
 */
export function smallFileReader(directory: string): (known: KnownFile) => FileRead {
  let memory = Buffer.allocUnsafeSlow(SMALL_BYTES);
  return (known) => {
    try {
      const file = openSync(join(directory, known.file), 'r');
      try {
        const { size } = fstatSync(file);
        if (memory.length < size) memory = Buffer.allocUnsafeSlow(size);
        return asWritten(known, memory.subarray(0, readSync(file, memory, 0, size, 0)));
      } finally {
        closeSync(file);
      }
    } catch (error) {
      return unreadable(known, error);
    }
  };
}

const SMALL_BYTES = 256 * 1024;

function asWritten({ file, sizeBytes, sha256 }: KnownFile, content: Buffer): FileRead {
  if (content.length !== sizeBytes)
    return wrong(`${file} was changed: it has ${content.length} bytes instead of ${sizeBytes}`);
  return sha256Hex(content) === sha256
    ? { ok: true, content }
    : wrong(`${file} was changed: its SHA-256 is not ${sha256}`);
}

const unreadable = ({ file }: KnownFile, error: unknown): FileRead =>
  wrong(
    isMissing(error)
      ? `${file} is missing`
      : `${file} cannot be read: ${error instanceof Error ? error.message : error}`,
  );

const wrong = (problem: string): FileRead => ({ ok: false, problem });

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT';
