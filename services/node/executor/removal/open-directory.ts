import { constants, readFileSync, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, readdir, rmdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * A directory that is open: whoever renames or replaces it meanwhile does not change where the entries named below it
 * lie. Names are single segments. What is missing is no error, since somebody else may remove the same; other errors
 * name the path as it was asked for.
 */
export interface OpenDirectory extends AsyncDisposable {
  readonly path: string;
  names(): Promise<readonly string[]>;
  /** `null` where nothing is. */
  lstat(name: string): Promise<Pick<Stats, 'isSymbolicLink'> | null>;
  /** Of what a link leads to; `null` where that is nothing. */
  stat(name: string): Promise<object | null>;
  unlink(name: string): Promise<void>;
  rmdir(name: string): Promise<void>;
  /**
   * A directory in it; `null` for anything else, a link to a directory included, and for nothing. Rejects where something
   * is mounted.
   */
  open(name: string): Promise<OpenDirectory | null>;
}

const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY;

/** Opens the directory that `path` leads to, over links too. Rejects where there is none. */
export const openDirectory = async (path: string): Promise<OpenDirectory> =>
  directoryOf(await open(path, DIRECTORY), path);

function directoryOf(handle: FileHandle, path: string): OpenDirectory {
  const reported = async <T>(operation: (at: string) => Promise<T>): Promise<T> => {
    // Its number can be another file's by now.
    if (handle.fd < 0) throw new Error(`${path} is not open any more`);
    const at = `/proc/self/fd/${handle.fd}`;
    try {
      return await operation(at);
    } catch (error) {
      throw inWordsOf(error, at, path);
    }
  };
  return {
    path,
    names: () => reported((at) => readdir(at)),
    lstat: (name) => reported((at) => unlessMissing(lstat(`${at}/${name}`), null)),
    stat: (name) => reported((at) => unlessMissing(stat(`${at}/${name}`), null)),
    unlink: (name) => reported((at) => unlessMissing(unlink(`${at}/${name}`), undefined)),
    rmdir: (name) => reported((at) => unlessMissing(rmdir(`${at}/${name}`), undefined)),
    open: async (name) => {
      const below = await reported((at) => openAsItself(`${at}/${name}`));
      if (below === null) return null;
      const inside = join(path, name);
      await closedOnError(below, onSameMount(handle, below, inside));
      return directoryOf(below, inside);
    },
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

async function onSameMount(parent: FileHandle, below: FileHandle, path: string): Promise<void> {
  if ((await mountOf(below)) !== (await mountOf(parent))) throw new Error(`something is mounted at ${path}`);
}

/**
 * The mount by its id, since a directory of the same filesystem can be mounted in another place; and the filesystem, since
 * some have parts of their own without a mount.
 */
async function mountOf(handle: FileHandle): Promise<string> {
  const { dev } = await handle.stat();
  // No disk is asked for it.
  const descriptor = readFileSync(`/proc/self/fdinfo/${handle.fd}`, 'utf8');
  const [, id] = /^mnt_id:\s*(\d+)$/m.exec(descriptor) ?? [];
  if (id === undefined) throw new Error('/proc/self/fdinfo does not tell on which mount a directory lies');
  return `${id} ${dev}`;
}

async function closedOnError<T>(handle: FileHandle, result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function openAsItself(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, DIRECTORY | constants.O_NOFOLLOW);
  } catch (error) {
    if (['ENOTDIR', 'ELOOP', 'ENOENT'].includes(errnoOf(error))) return null;
    throw error;
  }
}

/** Nobody knows a directory by the number of its descriptor. */
function inWordsOf(error: unknown, at: string, path: string): unknown {
  if (!(error instanceof Error)) return error;
  return new Error(
    error.message.replace(at, () => path),
    { cause: error },
  );
}

/** The system's code of an error, e.g. `ENOENT`; empty when it has none. */
const errnoOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : '';

/** `otherwise` where what was asked for is not there; any other error is passed on. */
export async function unlessMissing<T, U>(result: Promise<T>, otherwise: U): Promise<T | U> {
  try {
    return await result;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return otherwise;
    throw error;
  }
}
