import { closeSync, type Dirent, fsyncSync, openSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { unreadableReason } from '../../../packages/process/options/named-file.ts';
import { fileName, filePrefix, namesFileName, recordsFileName } from './file-names.ts';
import { filesOf, isCompacted, type Manifest, readManifest } from './manifest.ts';
import { ARCHIVE_VERSION } from './manifest-entry.ts';

/** The lines that say what the archive holds. */
export const MANIFEST_FILE = 'manifest.jsonl';
/** Held by the one process that writes. */
export const LOCK_FILE = 'archive.lock';
/** A file that is not written whole yet ends so. */
export const UNFINISHED = '.unfinished';

/** There while a pass goes on, and after one that did not come to its end: what was copied last may lack its causes. */
export const PASS_FILE = `pass${UNFINISHED}`;

/** When the pass began that did not come to its end, epoch milliseconds; `null` when there is none. Rejects when nobody can tell. */
export async function unfinishedPassMs(directory: string): Promise<number | null> {
  try {
    return Number(await readFile(join(directory, PASS_FILE), 'utf8'));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}

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
export async function loadManifest(directory: string): Promise<Manifest> {
  const path = join(directory, MANIFEST_FILE);
  const content = await readFile(path).catch((cause) => {
    throw new FleetGcError(
      'NOT_FOUND',
      `there is no archive in ${directory}: ${path} cannot be read: ${unreadableReason(cause)}`,
      { cause },
    );
  });
  return readManifest(content);
}

/** Throws `ARCHIVE_CHANGED` for a manifest that is not as it was written, and `ARCHIVE_OF_ANOTHER_RELEASE`. */
export async function requireManifest(directory: string): Promise<Manifest> {
  const manifest = await loadManifest(directory);
  const { otherVersion, problems } = manifest;
  if (otherVersion !== null && problems.length === 1) throw otherRelease(directory, otherVersion);
  requireUnchanged(directory, manifest.problems);
  return manifest;
}

/** Throws `ARCHIVE_CHANGED` with the first problem. */
export function requireUnchanged(directory: string, [problem]: readonly string[]): void {
  if (problem !== undefined) throw archiveChanged(directory, problem);
}

const otherRelease = (directory: string, version: number): FleetGcError =>
  new FleetGcError(
    'ARCHIVE_OF_ANOTHER_RELEASE',
    `the archive in ${directory} says that another release of FleetGC wrote it: its version is ${version}, and this release reads ${ARCHIVE_VERSION}. Read it with that release, or name another directory to begin a new one`,
  );

/** `problem` says what of it. */
export const archiveChanged = (directory: string, problem: string): FleetGcError =>
  new FleetGcError(
    'ARCHIVE_CHANGED',
    `the archive in ${directory} is not as it was written: ${problem}. "fleetgc audit archive check --archive ${directory}" lists everything; take the archive from a copy, or begin a new one in another directory`,
  );

const isOwn = (entry: Dirent, name: string): boolean =>
  name === MANIFEST_FILE || name === LOCK_FILE || name === `${LOCK_FILE}-journal` || entry.isDirectory();

/** Every file below the directory but the manifest and the lock, relative to it, in order. */
export async function recordFiles(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries
    .map((entry) => ({ entry, name: relative(directory, join(entry.parentPath, entry.name)) }))
    .filter(({ entry, name }) => !isOwn(entry, name))
    .map(({ name }) => name)
    .toSorted();
}

/** Those that the manifest does not name. */
export async function unnamedFiles(directory: string, manifest: Manifest): Promise<readonly string[]> {
  const named = new Set(knownFiles(manifest).map(({ file }) => file));
  return (await recordFiles(directory)).filter((file) => !named.has(file));
}

/** Whether a file of this name may be the one that comes next in its partition. */
export function isNextFile(file: string, { entries }: Manifest): boolean {
  const name = recordsFileName(file);
  const end = entries.findLast(({ topic, partition }) => name.startsWith(filePrefix(topic, partition)));
  if (end === undefined) return true;
  const next = fileName(end.topic, end.partition, BigInt(end.lastOffset) + 1n);
  return isCompacted(end.topic) ? name >= next : name === next;
}

/** Returns when what was written to the file, or a name in the directory, outlasts a loss of power. */
export function syncToDisk(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
