import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, readdir, rmdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, unlessMissing } from './missing.ts';

/**
 * A directory that is open: whoever renames or replaces it meanwhile does not change where the entries named below it
 * lie. Names are single segments. What is missing is no error, since somebody else may remove the same; other errors
 * name the path as it was asked for.
 */
export interface OpenDirectory extends AsyncDisposable {
  readonly path: string;
  names(): Promise<readonly string[]>;
  /** `null` where nothing is. */
  lstat(name: string): Promise<Stats | null>;
  /** Of what a link leads to; `null` where that is nothing. */
  stat(name: string): Promise<Stats | null>;
  unlink(name: string): Promise<void>;
  rmdir(name: string): Promise<void>;
  /**
   * A directory in it; `null` for anything else, a link to a directory included, and for nothing. Rejects where another
   * filesystem is mounted.
   */
  open(name: string): Promise<OpenDirectory | null>;
}

const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY;

/** Opens the directory that `path` leads to, over links too. Rejects where there is none. */
export async function openDirectory(path: string): Promise<OpenDirectory> {
  const handle = await open(path, DIRECTORY);
  const { dev } = await closedOnError(handle, handle.stat());
  return directoryOf(handle, path, dev);
}

function directoryOf(handle: FileHandle, path: string, device: number): OpenDirectory {
  const at = `/proc/self/fd/${handle.fd}`;
  const told = async <T>(result: Promise<T>): Promise<T> => {
    try {
      return await result;
    } catch (error) {
      throw inWordsOf(error, at, path);
    }
  };
  return {
    path,
    names: () => told(readdir(at)),
    lstat: (name) => told(unlessMissing(lstat(`${at}/${name}`), null)),
    stat: (name) => told(unlessMissing(stat(`${at}/${name}`), null)),
    unlink: (name) => told(unlessMissing(unlink(`${at}/${name}`), undefined)),
    rmdir: (name) => told(unlessMissing(rmdir(`${at}/${name}`), undefined)),
    open: async (name) => {
      const below = await told(openAsItself(`${at}/${name}`));
      if (below === null) return null;
      const inside = join(path, name);
      await closedOnError(below, isOn(below, device, inside));
      return directoryOf(below, inside, device);
    },
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

async function isOn(handle: FileHandle, device: number, path: string): Promise<void> {
  if ((await handle.stat()).dev !== device) throw new Error(`another filesystem is mounted at ${path}`);
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
    if (['ENOTDIR', 'ELOOP', 'ENOENT'].includes(codeOf(error))) return null;
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
