import { randomUUID } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { FleetGcError } from '../process/errors.ts';
import { systemCode } from '../process/system-problem.ts';
import { reportIfWide } from './wide-files.ts';

/**
 * The one way to open files in directories that other users may write to: a process with more rights than they have must not be led to
 * another file. No link is followed, no pipe keeps anybody waiting, what is made is new, and what is there already is a regular file
 * with this one name, of a user whom the directory trusts. Everything is made for its user alone, whatever the umask. A test finds what
 * is opened in another way.
 */

const OWNER_ONLY = 0o600;
const ITSELF = constants.O_NOFOLLOW | constants.O_NONBLOCK;
const ACCESS = {
  read: constants.O_RDONLY,
  'read-write': constants.O_RDWR,
  append: constants.O_WRONLY | constants.O_APPEND,
} as const;
export type Access = keyof typeof ACCESS;

/** Runs `use` with a file that is there, and closes it. Throws errors of the system, and `FILE_REFUSED`. */
export const withOwnFile = <T>(path: string, access: Access, use: (fd: number) => T): T =>
  using(openSync(path, ITSELF | ACCESS[access]), (fd) => {
    requireOwn(path, fstatSync(fd));
    return use(fd);
  });

/** Runs `use` with a file that is new and empty, and closes it. Throws errors of the system: `EEXIST` for a link, too. */
export const withNewFile = <T>(path: string, use: (fd: number) => T, mode = OWNER_ONLY): T =>
  using(
    openSync(path, ITSELF | constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, OWNER_ONLY),
    (fd) => {
      setMode(() => fchmodSync(fd, mode));
      return use(fd);
    },
  );

/**
 * Sets the mode of what this process has just made. A filesystem without users of its own, as a share of SMB is, gives all files the owner
 * and the mode that it was mounted with, and refuses others: then these count.
 */
export function setMode(change: () => void): void {
  try {
    change();
  } catch (error) {
    if (!MODES_REFUSED.has(systemCode(error) ?? '')) throw error;
  }
}

const MODES_REFUSED = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP']);

/** With the file that is there, or with a new one. */
export function withOwnOrNewFile<T>(path: string, access: Access, use: (fd: number) => T): T {
  try {
    return withOwnFile(path, access, use);
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
  }
  return withNewFile(path, use);
}

/** The bytes of a regular file, whoever owns it: for what is checked afterwards. Throws errors of the system, and `FILE_REFUSED`. */
export const readItself = (path: string): Buffer => withFileItself(path, (fd) => readFileSync(fd));

/** Runs `use` with a regular file, whoever owns it, and closes it. */
export const withFileItself = <T>(path: string, use: (fd: number, stat: Stats) => T): T =>
  using(openSync(path, ITSELF | constants.O_RDONLY), (fd) => {
    const stat = fstatSync(fd);
    requireRegular(path, stat);
    return use(fd, stat);
  });

/**
 * Puts the content under this name, in place of what was there: whoever reads it finds the old or the new content, whole, and it outlasts
 * a loss of power. A link under this name is replaced, and not followed. Throws `FILE_REFUSED` for a device, pipe or socket, and for a link
 * to one, as `/dev/stdout` is: root would replace it for the whole machine.
 */
export function replaceFile(path: string, content: string | Buffer, mode = OWNER_ONLY): void {
  refuseDevice(path);
  const unfinished = join(dirname(path), `.${basename(path)}.${randomUUID()}.new`);
  try {
    writeNewFile(unfinished, content, mode);
    renameSync(unfinished, path);
  } finally {
    rmSync(unfinished, { force: true });
  }
  syncDirectory(dirname(path));
}

function refuseDevice(path: string): void {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat !== undefined && !stat.isFile() && !stat.isDirectory())
    throw new RefusedFile(path, 'it is a device, a pipe or a socket, or a link to one');
}

/** Writes a file that was not there, to its disk. Throws errors of the system: `EEXIST` where something is. */
export const writeNewFile = (path: string, content: string | Buffer, mode = OWNER_ONLY): void =>
  withNewFile(
    path,
    (fd) => {
      writeAll(fd, Buffer.from(content));
      fsyncSync(fd);
    },
    mode,
  );

/** Adds to the end of a file that is there, to its disk. */
export const appendToFile = (path: string, text: string): void =>
  withOwnFile(path, 'append', (fd) => {
    writeAll(fd, Buffer.from(text));
    fsyncSync(fd);
  });

/** Cuts off what is behind, on its disk. */
export const cutFile = (path: string, sizeBytes: number): void =>
  withOwnFile(path, 'read-write', (fd) => {
    ftruncateSync(fd, sizeBytes);
    fsyncSync(fd);
  });

/** Returns when names that were made or removed in the directory outlast a loss of power. */
export const syncDirectory = (path: string): void =>
  using(openSync(path, constants.O_RDONLY | constants.O_DIRECTORY), (fd) => fsyncSync(fd));

/** All bytes, from `position` on, or where the file is at. */
export function writeAll(fd: number, bytes: Buffer, position: number | null = null): void {
  for (let written = 0; written < bytes.length; )
    written += writeSync(
      fd,
      bytes,
      written,
      bytes.length - written,
      position === null ? null : position + written,
    );
}

/** What SQLite keeps beside a database. */
export const DATABASE_SUFFIXES = ['-wal', '-shm', '-journal'] as const;

/**
 * Opens the SQLite database of this name, made for its user alone where it is missing; SQLite gives the files beside it the same mode. To
 * close any descriptor of a database ends the locks that this process has on it, so one that is there is looked at by its name, and
 * compared with what SQLite has opened before anything is read or written. Throws errors of the system, of SQLite, and `FILE_REFUSED`.
 */
export function openDatabaseFile(path: string, timeoutMs: number): DatabaseSync {
  // 1. The file, and those beside it.
  makeIfMissing(path);
  const before = lstatSync(path);
  requireOwn(path, before);
  for (const suffix of DATABASE_SUFFIXES) requireUsableWhileThere(`${path}${suffix}`);
  accessSync(path, constants.R_OK | constants.W_OK);
  // 2. SQLite opens it, and makes none.
  const db = new DatabaseSync(`${pathToFileURL(path)}?mode=rw`, { timeout: timeoutMs });
  // 3. It opened the same file.
  try {
    const opened = statSync(db.location() ?? path);
    if (opened.dev !== before.dev || opened.ino !== before.ino)
      throw new RefusedFile(path, 'another file took its place');
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Another process that has the database open removes what lies beside it at any time. */
function requireUsableWhileThere(path: string): void {
  try {
    requireOwn(path, lstatSync(path));
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
  }
}

function makeIfMissing(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) return;
  try {
    withNewFile(path, () => undefined);
  } catch (error) {
    // Another process made it.
    if (systemCode(error) !== 'EEXIST') throw error;
  }
}

/** Removes a database with all files beside it. */
export function removeDatabaseFile(path: string): void {
  for (const suffix of ['', ...DATABASE_SUFFIXES]) rmSync(`${path}${suffix}`, { force: true });
}

/** A regular file with one name, of a user whom the directory trusts; told where others may open it. */
function requireOwn(path: string, stat: Stats): void {
  requireRegular(path, stat);
  requireOneName(path, stat);
  requireTrustedOwner(path, stat);
  reportIfWide(path, stat.mode, 'file');
}

function requireRegular(path: string, stat: Stats): void {
  if (stat.isFile()) return;
  if (stat.isSymbolicLink()) throw new RefusedFile(path, 'it is a symbolic link');
  throw new RefusedFile(path, stat.isDirectory() ? 'it is a directory' : 'it is no regular file');
}

/**
 * Under a second name it may be any file of this disk. A start that was cut off leaves its unfinished name behind, which is the same file
 * and goes.
 */
function requireOneName(path: string, stat: Stats): void {
  if (stat.nlink === 1) return;
  const directory = dirname(path);
  const isLeft = (name: string): boolean => name.startsWith(`.${basename(path)}.`) && name.endsWith('.new');
  for (const name of readdirSync(directory).filter(isLeft)) {
    const left = lstatSync(join(directory, name), { throwIfNoEntry: false });
    if (left?.ino === stat.ino && left.dev === stat.dev) rmSync(join(directory, name), { force: true });
  }
  const { nlink } = lstatSync(path);
  if (nlink > 1) throw new RefusedFile(path, `the file has ${nlink} names (hard links)`);
}

const WRITTEN_BY_OTHERS = 0o022;

/** Where nobody else may write to the directory, what lies there was put there by those who may. */
function requireTrustedOwner(path: string, { uid }: Stats): void {
  const user = process.geteuid?.();
  if (user === undefined || uid === user || uid === 0) return;
  const directory = statSync(dirname(path));
  if (uid === directory.uid) return;
  const isClosed =
    (directory.uid === user || directory.uid === 0) && (directory.mode & WRITTEN_BY_OTHERS) === 0;
  if (!isClosed)
    throw new RefusedFile(
      path,
      `it belongs to uid ${uid}, and its directory may be written to by other users`,
    );
}

/** What lies there is nothing that FleetGC would have put there; `reason` goes without the path. */
export class RefusedFile extends FleetGcError {
  readonly reason: string;

  constructor(path: string, what: string) {
    const reason = `${what}. Find out who put it there; move it away, or make it a file of the user of this process`;
    super('FILE_REFUSED', `Refused to use ${path}: ${reason}`);
    this.reason = reason;
  }
}

function using<T>(fd: number, use: (fd: number) => T): T {
  try {
    return use(fd);
  } finally {
    closeSync(fd);
  }
}
