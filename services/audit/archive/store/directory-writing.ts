import {
  appendFileSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { lockFile } from '../../../../packages/files/file-lock.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
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
    writeFileSync(`${path}${UNFINISHED}`, lineText(line), { flush: true });
    renameSync(`${path}${UNFINISHED}`, path);
    syncToDisk(directory);
  },
  clear: async (found) => clear(directory, found),
  write: (file, content) => orUnwritable(directory, () => placeFile(directory, file, content)),
  append: (line) =>
    orUnwritable(directory, () => appendFileSync(lastPart(directory), lineText(line), { flush: true })),
  markPass: (beganMs) => orUnwritable(directory, () => markPass(directory, beganMs)),
  unmarkPass: () => orUnwritable(directory, () => rmSync(join(directory, passFile(null)), { force: true })),
  [Symbol.dispose]: () => lock[Symbol.dispose](),
});

const lineText = (line: unknown): string => `${JSON.stringify(line)}\n`;

async function orUnwritable(directory: string, write: () => void | Promise<void>): Promise<void> {
  try {
    await write();
  } catch (cause) {
    throw unwritable(directory, cause);
  }
}

const unwritable = (directory: string, cause: unknown): FleetGcError =>
  new FleetGcError(
    'STATE_UNWRITABLE',
    `cannot write to the archive in ${directory}: ${cause instanceof Error ? cause.message : cause}. Nothing is lost while the log keeps it; see to the disk`,
    { cause },
  );

async function manifestIn(directory: string): Promise<Buffer | null> {
  if (!existsSync(join(directory, FIRST_PART))) return null;
  const parts = partsIn(readdirSync(directory));
  return Buffer.concat(await Promise.all(parts.map((part) => readFile(join(directory, part)))));
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
  const before = manifest.sizeBytes - statSync(path).size;
  if (!manifest.isWhole) truncateSync(path, manifest.wholeBytes - before);
  for (const file of unnamed)
    if (isLeftUnfinished(file) && file !== passFile(null)) rmSync(join(directory, file));
}

/** Whoever has the lock writes one after the other. */
const MOST_LEFT = 1;

/** Written elsewhere in the archive, so that a file with its own name is whole, and where tables are looked for there is nothing else. */
async function placeFile(directory: string, file: string, content: Buffer): Promise<void> {
  const path = join(directory, file);
  makeFolder(directory, dirname(file));
  const unfinished = join(directory, `${basename(file)}${UNFINISHED}`);
  await writeFile(unfinished, content);
  syncToDisk(unfinished);
  renameSync(unfinished, path);
  syncToDisk(dirname(path));
}

/** With all folders on the way to it, so that they outlast a loss of power. */
function makeFolder(directory: string, folder: string): void {
  if (existsSync(join(directory, folder))) return;
  const above = dirname(folder);
  if (above !== '.') makeFolder(directory, above);
  mkdirSync(join(directory, folder), { recursive: true });
  syncToDisk(join(directory, above));
}

function markPass(directory: string, beganMs: number): void {
  const path = join(directory, passFile(null));
  if (!existsSync(path)) writeFileSync(path, String(beganMs), { flush: true });
}

/** Returns when what was written to the file, or a name in the directory, outlasts a loss of power. */
function syncToDisk(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

const inUse = (directory: string, cause: unknown): FleetGcError =>
  new FleetGcError(
    'STATE_IN_USE',
    `another process writes to the archive in ${directory} already: let that one end, or name another directory with --to`,
    { cause },
  );
