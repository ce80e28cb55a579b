import { type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** What people call an answer of the system about a file. */
const TEXTS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a directory',
  ENOTDIR: 'a part of the path is not a directory',
  ELOOP: 'it is a symbolic link, or too many links lead to it; name the file itself',
  ENXIO: 'it is a pipe, a socket or a device, not a file',
  EEXIST: 'it is there already',
  ENAMETOOLONG: 'its name is too long',
  ENOSPC: 'its disk is full (free 10 MB on it, 50 MB for "fleetgc run")',
  EDQUOT: 'its disk quota is used up',
  EFBIG: 'it may not become larger (see "ulimit -f")',
  EROFS: 'its filesystem is read-only',
  ENOTEMPTY: 'the directory is not empty',
  EBUSY: 'another program uses it, or something is mounted there',
  EMFILE: 'this process has too many files open (see "ulimit -n")',
  ENFILE: 'this machine has too many files open',
  EIO: 'its disk answers with an input/output error',
  ESTALE: 'its network filesystem does not know it any more',
};

/** The system's code of an error, such as `ENOENT`; `null` where it has none. */
export const systemCode = (error: unknown): string | null =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;

const isDenied = (code: string | null): boolean => code === 'EACCES' || code === 'EPERM';

/**
 * In words what the system answered about a file, and for a missing right which one, on what, and how to get it; `null` for an error of
 * another kind. `path` is for errors that do not name one.
 */
export function systemProblem(error: unknown, path?: string): string | null {
  const code = systemCode(error);
  if (code === null) return null;
  if (!isDenied(code)) return TEXTS[code] ?? null;
  const named =
    error instanceof Error && 'path' in error && typeof error.path === 'string' ? error.path : path;
  return named === undefined ? 'permission denied' : deniedText(named);
}

/** Whether the system denied it: what is there may be there all the same. */
export const isPermissionDenied = (error: unknown): boolean => isDenied(systemCode(error));

/** Which right on what is missing for this path, and how to get it, where something else than an error of the system says so. */
export function deniedText(path: string): string {
  const { at, right } = deniedAt(path, path);
  const found = statOrCode(at);
  const whose =
    typeof found === 'string' ? '' : ` (owner ${userName(found.uid)}, mode ${modeText(found.mode)})`;
  return `permission denied: ${userName(process.geteuid?.())} may not ${right} ${at}${whose}; ${ADVICE()}`;
}

const ADVICE = (): string =>
  process.geteuid?.() === 0
    ? 'this root lacks the capability that passes over permissions: run the command as the owner, or give it CAP_DAC_OVERRIDE'
    : 'run the command with sudo, or as the owner';

/** The first directory on the way that nobody else may pass, or the file itself. */
function deniedAt(path: string, asked: string): { readonly at: string; readonly right: string } {
  const found = statOrCode(path);
  if (typeof found !== 'string') {
    if (path === asked) return { at: path, right: found.isDirectory() ? 'open or change' : 'read or write' };
    return { at: path, right: isClosed(asked) ? 'enter' : 'create files in' };
  }
  const above = dirname(path);
  return above === path ? { at: path, right: 'use' } : deniedAt(above, asked);
}

/** Not even whether it is there can be found out. */
const isClosed = (path: string): boolean => isDenied(String(statOrCode(path)));

function statOrCode(path: string): Stats | string {
  try {
    return statSync(path);
  } catch (error) {
    return systemCode(error) ?? '';
  }
}

const userName = (uid: number | undefined): string => (uid === 0 ? 'root' : `uid ${uid ?? 'unknown'}`);

/** As `chmod` takes it. */
export const modeText = (mode: number): string => (mode & 0o7777).toString(8).padStart(4, '0');
