import { statfs } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import pMap from 'p-map';
import { inFolder } from '../files/folders.ts';
import { withNewFile, writeAll } from '../files/open-file.ts';
import { FleetGcError } from '../process/errors.ts';
import { sizeText } from '../text/size-text.ts';
import { archiveChanged, readKnownFile, requireUnchanged } from './archive-files.ts';
import { type CheckProgress, changedFiles } from './check-archive.ts';
import type { ArchivedFile } from './manifest-entry.ts';
import { privateDirectory } from './private-file.ts';
import type { ArchivePlace } from './store/place.ts';
import type { ArchiveStore } from './store/port.ts';

/** Files of an archive where DuckDB can read them: it knows only paths. */
export interface LocalFiles extends AsyncDisposable {
  readonly root: string;
}

interface Wanted {
  readonly place: ArchivePlace;
  readonly store: ArchiveStore;
  readonly files: readonly ArchivedFile[];
  /** Whether files that are here already are compared with the manifest; what is fetched always is. */
  readonly check: boolean;
  readonly onProgress: (progress: CheckProgress) => void;
}

/** Throws `ARCHIVE_CHANGED`, and `STATE_UNWRITABLE` where there is no room for what is fetched. */
export async function localFiles(wanted: Wanted, signal: AbortSignal): Promise<LocalFiles> {
  const { place, store, files, check, onProgress } = wanted;
  if (typeof place !== 'string') return await fetchedFiles(wanted, signal);
  if (check) requireUnchanged(store.name, await changedFiles({ store, onProgress }, files, signal));
  return { root: resolve(place), [Symbol.asyncDispose]: async () => undefined };
}

/** Each is in memory for a moment. */
const FETCHED_AT_ONCE = 4;

async function fetchedFiles({ store, files, onProgress }: Wanted, signal: AbortSignal): Promise<LocalFiles> {
  await using opened = new AsyncDisposableStack();
  const { path: root } = opened.use(await privateDirectory());
  await requireRoom(root, files);
  let done = 0;
  const fetch = async (file: ArchivedFile): Promise<void> => {
    signal.throwIfAborted();
    const read = await readKnownFile(store, file);
    if (!read.ok) throw archiveChanged(store.name, read.problem);
    inFolder(root, dirname(file.file), (folder) =>
      withNewFile(`${folder}/${basename(file.file)}`, (fd) => writeAll(fd, read.content)),
    );
    done += 1;
    onProgress({ done, of: files.length });
  };
  await pMap(files, fetch, { concurrency: FETCHED_AT_ONCE });
  const all = opened.move();
  return { root, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

async function requireRoom(root: string, files: readonly ArchivedFile[]): Promise<void> {
  const needed = files.reduce((sum, { sizeBytes }) => sum + BigInt(sizeBytes), 0n);
  const { bavail, bsize } = await statfs(root, { bigint: true });
  if (needed <= bavail * bsize) return;
  throw new FleetGcError(
    'STATE_UNWRITABLE',
    `the query needs ${sizeText(needed)} for the files that it reads, and ${dirname(root)} has ${sizeText(bavail * bsize)}: name fewer views, or another directory with TMPDIR`,
  );
}
