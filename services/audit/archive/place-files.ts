import { mkdirSync, renameSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sha256Hex } from '../../../packages/canonical/ids.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { NAMES_VERSION } from '../names/name-lines.ts';
import { type KnownFile, syncToDisk, UNFINISHED } from './archive-files.ts';
import { fileName, namesFileName } from './file-names.ts';
import type { ArchivedFile } from './manifest-entry.ts';
import type { OpenRange } from './open-ranges.ts';
import { privateFile } from './private-file.ts';

export interface FileContent {
  /** Writes the records. */
  readonly write: (path: string) => Promise<void>;
  /** The index of their names, where there is one. */
  readonly names: Buffer | null;
}

/** Throws `STATE_UNWRITABLE`. */
export async function written(
  directory: string,
  range: OpenRange,
  content: FileContent,
): Promise<ArchivedFile> {
  try {
    return await placeFiles(directory, range, content);
  } catch (cause) {
    throw unwritable(directory, cause);
  }
}

export const unwritable = (directory: string, cause: unknown): FleetGcError =>
  new FleetGcError(
    'STATE_UNWRITABLE',
    `cannot write to the archive in ${directory}: ${cause instanceof Error ? cause.message : cause}. Nothing is lost while the log keeps it; see to the disk`,
    { cause },
  );

/** The names first: there is no file of records whose names are still to come. */
async function placeFiles(
  directory: string,
  range: OpenRange,
  { write, names }: FileContent,
): Promise<ArchivedFile> {
  const { topic, partition, firstOffset, lastOffset, rawBytes: _, ...rest } = range;
  const file = fileName(topic, partition, firstOffset);
  if (mkdirSync(dirname(join(directory, file)), { recursive: true }) !== undefined) syncToDisk(directory);
  const indexed = names && (await placeFile(directory, namesFileName(file), names));
  return {
    kind: 'file',
    file,
    ...(await placeFile(directory, file, await contentBy(write))),
    topic,
    partition,
    firstOffset: String(firstOffset),
    lastOffset: String(lastOffset),
    ...rest,
    ...(indexed && { names: { version: NAMES_VERSION, ...indexed } }),
  };
}

/** What is written elsewhere: whoever can write to the archive could have something else signed. */
async function contentBy(write: FileContent['write']): Promise<Buffer> {
  await using file = await privateFile();
  await write(file.path);
  return await readFile(file.path);
}

/** Written under another name, so that a file with its own name is whole. */
async function placeFile(directory: string, file: string, content: Buffer): Promise<Omit<KnownFile, 'file'>> {
  const path = join(directory, file);
  await writeFile(`${path}${UNFINISHED}`, content);
  syncToDisk(`${path}${UNFINISHED}`);
  renameSync(`${path}${UNFINISHED}`, path);
  syncToDisk(dirname(path));
  return { sha256: sha256Hex(content), sizeBytes: content.length };
}
