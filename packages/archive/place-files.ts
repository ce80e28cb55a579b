import { readFile } from 'node:fs/promises';
import { sha256Hex } from '../canonical/ids.ts';
import type { KnownFile } from './archive-files.ts';
import { fileName, namesFileName } from './file-names.ts';
import type { ArchivedFile } from './manifest-entry.ts';
import { NAMES_VERSION } from './names/name-lines.ts';
import type { OpenRange } from './open-ranges.ts';
import { privateFile } from './private-file.ts';
import type { WritableStore } from './store/port.ts';

export interface FileContent {
  /** Writes the records. */
  readonly write: (path: string) => Promise<void>;
  /** The index of their names, where there is one. */
  readonly names: Buffer | null;
}

/** Where files are written. */
interface Target {
  readonly store: Pick<WritableStore, 'nameToken' | 'write'>;
  /** The form of the archive. */
  readonly version: number;
}

/** The names first: there is no file of records whose names are still to come. Throws `STATE_UNWRITABLE`. */
export async function written(
  { store, version }: Target,
  range: OpenRange,
  { write, names }: FileContent,
): Promise<ArchivedFile> {
  const { topic, partition, firstOffset, lastOffset, rawBytes: _, ...rest } = range;
  const content = await contentBy(write);
  const file = fileName(version, range, store.nameToken(names === null ? [content] : [content, names]));
  const indexed = names && (await placeFile(store, namesFileName(file), names));
  return {
    kind: 'file',
    file,
    ...(await placeFile(store, file, content)),
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

async function placeFile(
  store: Target['store'],
  file: string,
  content: Buffer,
): Promise<Omit<KnownFile, 'file'>> {
  await store.write(file, content);
  return { sha256: sha256Hex(content), sizeBytes: content.length };
}
