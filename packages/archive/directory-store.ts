import {
  type Dirent,
  lstatSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { lockFile } from '../files/file-lock.ts';
import { inFolder } from '../files/folders.ts';
import { makeDirectories } from '../files/make-directories.ts';
import {
  appendToFile,
  cutFile,
  readItself,
  syncDirectory,
  withFileItself,
  writeNewFile,
} from '../files/open-file.ts';
import { reportIfWide } from '../files/wide-files.ts';
import { FleetGcError } from '../process/errors.ts';
import { unreadableReason } from '../process/options/named-file.ts';
import { isPermissionDenied, systemProblem } from '../process/system-problem.ts';
import { requireLeftovers } from './archive-files.ts';
import {
  FIRST_PART,
  isLeftUnfinished,
  LOCK_FILE,
  PASS_FILE,
  partNumber,
  partsIn,
  passFile,
  UNFINISHED,
} from './file-names.ts';
import type { ArchiveStore, FoundFiles, StoredContent, WantedFile, WritableStore } from './store.ts';

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

/** One process writes to a directory at a time. Throws `STATE_IN_USE`. */
const lockDirectory = (directory: string): Disposable =>
  lockFile(join(directory, LOCK_FILE), (cause) => inUse(directory, cause));

/** A directory in the hands of the one process that has its lock. */
const writableDirectory = (directory: string, lock: Disposable): WritableStore => ({
  nameToken: () => null,
  readManifest: () => ownManifest(directory),
  begin: async (line) => {
    const path = join(directory, FIRST_PART);
    await orUnwritable(directory, () => {
      rmSync(`${path}${UNFINISHED}`, { force: true });
      writeNewFile(`${path}${UNFINISHED}`, lineText(line));
      renameSync(`${path}${UNFINISHED}`, path);
      syncDirectory(directory);
    });
  },
  clear: async (found) => clear(directory, found),
  write: (file, content) => orUnwritable(directory, () => placeFile(directory, file, content)),
  append: (line) => orUnwritable(directory, () => appendToFile(lastPart(directory), lineText(line))),
  markPass: (beganMs) => orUnwritable(directory, () => markPass(directory, beganMs)),
  unmarkPass: () => orUnwritable(directory, () => rmSync(join(directory, passFile(null)), { force: true })),
  [Symbol.dispose]: () => lock[Symbol.dispose](),
});

const lineText = (line: unknown): string => `${JSON.stringify(line)}\n`;

async function orUnwritable(directory: string, write: () => void): Promise<void> {
  try {
    write();
  } catch (cause) {
    throw unwritable(directory, cause);
  }
}

const unwritable = (directory: string, cause: unknown): FleetGcError =>
  new FleetGcError(
    'STATE_UNWRITABLE',
    `cannot write to the archive in ${directory}: ${systemProblem(cause) ?? (cause instanceof Error ? cause.message : cause)}. Nothing is lost while the log keeps it; see to the disk`,
    { cause },
  );

async function ownManifest(directory: string): Promise<Buffer | null> {
  if (lstatSync(join(directory, FIRST_PART), { throwIfNoEntry: false }) === undefined) return null;
  return Buffer.concat(partsIn(readdirSync(directory)).map((part) => readItself(join(directory, part))));
}

const lastPart = (directory: string): string =>
  join(directory, partsIn(readdirSync(directory)).at(-1) ?? FIRST_PART);

/**
 * A kill leaves half a line, files that are not whole, and at most one whole file, with its names, without a line: its
 * range comes next, and the new file takes its place.
 */
function clear(directory: string, { manifest, unnamed }: FoundFiles): void {
  requireLeftovers(directory, { manifest, unnamed }, MOST_LEFT);
  const path = lastPart(directory);
  const before = manifest.sizeBytes - lstatSync(path).size;
  if (!manifest.isWhole) cutFile(path, manifest.wholeBytes - before);
  for (const file of unnamed)
    if (isLeftUnfinished(file) && file !== passFile(null))
      inFolder(directory, dirname(file), (folder) => rmSync(`${folder}/${basename(file)}`));
}

/** Whoever has the lock writes one after the other. */
const MOST_LEFT = 1;

/** Written elsewhere in the archive, so that a file with its own name is whole, and where tables are looked for there is nothing else. */
const placeFile = (directory: string, file: string, content: Buffer): void =>
  inFolder(directory, dirname(file), (folder) => {
    const unfinished = join(directory, `${basename(file)}${UNFINISHED}`);
    rmSync(unfinished, { force: true });
    writeNewFile(unfinished, content);
    renameSync(unfinished, `${folder}/${basename(file)}`);
    syncDirectory(folder);
  });

function markPass(directory: string, beganMs: number): void {
  const path = join(directory, passFile(null));
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) writeNewFile(path, String(beganMs));
}

const inUse = (directory: string, cause: unknown): FleetGcError =>
  new FleetGcError(
    'STATE_IN_USE',
    `another process writes to the archive in ${directory} already: let that one end, or name another directory with --to`,
    { cause },
  );
