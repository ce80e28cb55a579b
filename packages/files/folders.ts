import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
} from 'node:fs';
import { join } from 'node:path';
import { systemCode } from '../process/system-problem.ts';
import { RefusedFile, setMode, syncDirectory } from './open-file.ts';

const OWNER_ONLY = 0o700;
const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY;
/** An open directory under a name that nobody can lead elsewhere: Linux has it, other systems go by the names. */
const OPEN_FILES = '/proc/self/fd';

/**
 * Runs `use` with a path to `folder` below `root`, and makes the levels that are missing. `root` may be a link, since the operator named
 * it; below it others may have put one, and none is followed, also where it is put there meanwhile. Throws errors of the system, and
 * `FILE_REFUSED` for a level that is no directory.
 */
export function inFolder<T>(root: string, folder: string, use: (at: string) => T): T {
  using opened = new DisposableStack();
  const opens = (path: string, flags: number): string => {
    const fd = openSync(path, flags);
    opened.defer(() => closeSync(fd));
    if (existsSync(OPEN_FILES) && fstatSync(fd).isDirectory()) return `${OPEN_FILES}/${fd}`;
    return path;
  };
  let at = opens(root, DIRECTORY);
  let named = root;
  for (const level of folder.split('/').filter((name) => name !== '' && name !== '.')) {
    named = join(named, level);
    const path = `${at}/${level}`;
    makeLevel(at, path);
    try {
      at = opens(path, DIRECTORY | constants.O_NOFOLLOW);
    } catch (error) {
      if (['ENOTDIR', 'ELOOP'].includes(systemCode(error) ?? ''))
        throw new RefusedFile(named, 'it is a link or a file where a directory is expected');
      throw error;
    }
  }
  return use(at);
}

function makeLevel(above: string, path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) return;
  try {
    mkdirSync(path, { mode: OWNER_ONLY });
    setMode(() => chmodSync(path, OWNER_ONLY));
    syncDirectory(above);
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
  }
}
