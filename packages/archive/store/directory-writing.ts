import { lstatSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { lockFile } from '../../files/file-lock.ts';
import { inFolder } from '../../files/folders.ts';
import { appendToFile, cutFile, readItself, syncDirectory, writeNewFile } from '../../files/open-file.ts';
import { FleetGcError } from '../../process/errors.ts';
import { systemProblem } from '../../process/system-problem.ts';
import { requireLeftovers } from './leftovers.ts';
import { FIRST_PART, partsIn } from './manifest-parts.ts';
import { isLeftUnfinished, LOCK_FILE, passFile, UNFINISHED } from './names.ts';
import type { FoundFiles, WritableStore } from './port.ts';

/** One process writes to a directory at a time. Throws `STATE_IN_USE`. */
export const lockDirectory = (directory: string): Disposable =>
  lockFile(join(directory, LOCK_FILE), (cause) => inUse(directory, cause));

/** A directory in the hands of the one process that has its lock. */
export const writableDirectory = (directory: string, lock: Disposable): WritableStore => ({
  nameToken: () => null,
  readManifest: () => manifestIn(directory),
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

async function manifestIn(directory: string): Promise<Buffer | null> {
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
