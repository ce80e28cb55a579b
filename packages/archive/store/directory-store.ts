import { type Dirent, readFileSync, readSync, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { makeDirectories } from '../../files/make-directories.ts';
import { readItself, withFileItself } from '../../files/open-file.ts';
import { reportIfWide } from '../../files/wide-files.ts';
import { FleetGcError } from '../../process/errors.ts';
import { unreadableReason } from '../../process/options/named-file.ts';
import { isPermissionDenied, systemProblem } from '../../process/system-problem.ts';
import { lockDirectory, writableDirectory } from './directory-writing.ts';
import { FIRST_PART, partNumber, partsIn } from './manifest-parts.ts';
import { LOCK_FILE, PASS_FILE } from './names.ts';
import type { ArchiveStore, StoredContent, WantedFile } from './port.ts';

/** An archive in a directory. */
export const directoryStore = (directory: string): ArchiveStore => ({
  name: directory,
  readManifest: () => manifestIn(directory),
  list: () => filesIn(directory),
  passMarks: () => passMarksIn(directory),
  read: (wanted) => contentOf(directory, wanted),
  readEach: (wanted) => contentsOf(directory, wanted),
  openForWriting: async () => {
    const problem = makeDirectories(directory);
    if (problem !== null)
      throw new FleetGcError('STATE_UNWRITABLE', `cannot write an archive to ${directory}: ${problem}`);
    reportIfWide(directory, statSync(directory).mode, 'directory');
    return writableDirectory(directory, lockDirectory(directory));
  },
  [Symbol.dispose]: () => undefined,
});

async function manifestIn(directory: string): Promise<Buffer> {
  const path = join(directory, FIRST_PART);
  try {
    const [, ...later] = partsIn(await readdir(directory));
    const parts = [readItself(path)];
    for (const part of later) parts.push(readItself(join(directory, part)));
    return Buffer.concat(parts);
  } catch (cause) {
    if (isPermissionDenied(cause))
      throw new FleetGcError(
        'FILE_UNUSABLE',
        `cannot read the archive in ${directory}: ${unreadableReason(cause)}`,
        { cause },
      );
    throw new FleetGcError(
      'NOT_FOUND',
      `there is no archive in ${directory}: ${path} cannot be read: ${unreadableReason(cause)}`,
      { cause },
    );
  }
}

const isOwn = (entry: Dirent, name: string): boolean =>
  partNumber(name) !== null || name === LOCK_FILE || name === `${LOCK_FILE}-journal` || entry.isDirectory();

async function filesIn(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries
    .map((entry) => ({ entry, name: relative(directory, join(entry.parentPath, entry.name)) }))
    .filter(({ entry, name }) => !isOwn(entry, name))
    .map(({ name }) => name)
    .toSorted();
}

/** Rejects when nobody can tell. */
async function passMarksIn(directory: string): Promise<readonly string[]> {
  try {
    const marks = (await readdir(directory)).filter((name) => PASS_FILE.test(name));
    const contents = marks.map((name) => ifThere(() => readItself(join(directory, name)).toString('utf8')));
    return contents.filter((content) => content !== null);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** A pass may end while it is looked for. */
function ifThere(read: () => string): string | null {
  try {
    return read();
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

async function contentOf(directory: string, { file, sizeBytes }: WantedFile): Promise<StoredContent> {
  const path = join(directory, file);
  try {
    return withFileItself(path, (file, { size }) =>
      size === sizeBytes
        ? { kind: 'content', content: readFileSync(file) }
        : { kind: 'other-size', sizeBytes: size },
    );
  } catch (error) {
    return unreadable(error);
  }
}

const SMALL_BYTES = 256 * 1024;

/** One after the other into the same memory: to wait for thousands of small files takes longer than to read them. */
async function* contentsOf(
  directory: string,
  wanted: readonly WantedFile[],
): AsyncGenerator<StoredContent, void> {
  let memory = Buffer.allocUnsafeSlow(SMALL_BYTES);
  for (const { file, sizeBytes } of wanted) {
    if (memory.length < sizeBytes) memory = Buffer.allocUnsafeSlow(sizeBytes);
    yield smallContent(join(directory, file), sizeBytes, memory);
  }
}

function smallContent(path: string, sizeBytes: number, memory: Buffer): StoredContent {
  try {
    return withFileItself(path, (file, { size }) =>
      size === sizeBytes
        ? { kind: 'content', content: memory.subarray(0, readSync(file, memory, 0, size, 0)) }
        : { kind: 'other-size', sizeBytes: size },
    );
  } catch (error) {
    return unreadable(error);
  }
}

const unreadable = (error: unknown): StoredContent =>
  isMissing(error)
    ? { kind: 'missing' }
    : {
        kind: 'unreadable',
        why: systemProblem(error) ?? (error instanceof Error ? error.message : String(error)),
      };

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT';
