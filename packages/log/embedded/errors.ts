import { FleetGcError, toFleetGcError } from '../../process/errors.ts';
import { systemCode, systemProblem } from '../../process/system-problem.ts';

/** SQLite's primary result codes: https://www.sqlite.org/rescode.html */
const SQLITE = {
  PERM: 3,
  BUSY: 5,
  LOCKED: 6,
  READONLY: 8,
  IOERR: 10,
  CORRUPT: 11,
  FULL: 13,
  CANTOPEN: 14,
  NOTADB: 26,
} as const;

/** The primary code of an error of the driver; null for any other value. */
function sqliteCode(error: unknown): number | null {
  if (!(error instanceof Error) || !('errcode' in error)) return null;
  return typeof error.errcode === 'number' ? error.errcode & 0xff : null;
}

export function isBusy(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === SQLITE.BUSY || code === SQLITE.LOCKED;
}

/** No block for what processes share in memory, which is a file too. */
const SHARED_MEMORY_FULL = 4874;

export const isFull = (error: unknown): boolean =>
  sqliteCode(error) === SQLITE.FULL ||
  (error instanceof Error && 'errcode' in error && error.errcode === SHARED_MEMORY_FULL);

export const busyError = (path: string, cause: unknown): FleetGcError =>
  new FleetGcError(
    'LOG_BUSY',
    `The event log ${path} was locked by another process for 5 s. Find who holds it (fuser ${path}); nothing was written, and it can be tried again.`,
    { cause },
  );

export const corruptError = (path: string, what: string, cause?: unknown): FleetGcError =>
  new FleetGcError(
    'LOG_CORRUPT',
    `The event log ${path} cannot be read: ${what}. Keep the file for inspection: move it and its -wal and -shm files away. Then "fleetgc topics create --log embedded --log-path ${path}" makes a new one.`,
    { cause },
  );

/** Most often a path that was meant for something else, so nobody is told to move what may be their own. */
export const noEventLogError = (path: string, what: string, cause?: unknown): FleetGcError =>
  new FleetGcError(
    'LOG_CORRUPT',
    `${path} is no event log of FleetGC: ${what}. Nothing was written to it. Check --log-path.`,
    { cause },
  );

export const replacedError = (path: string): FleetGcError =>
  new FleetGcError(
    'LOG_UNREACHABLE',
    `The event log ${path} was moved, removed or replaced while this process had it open. Put the file back, or restart this process to go on with the one that is there now.`,
  );

export const noDirectoryError = (path: string, problem: string): FleetGcError =>
  new FleetGcError(
    'LOG_UNREACHABLE',
    `The directory of the event log ${path} cannot be made: ${problem}. Name another file with --log-path.`,
  );

const unreachable = (path: string, text: string, cause: unknown): FleetGcError =>
  new FleetGcError(
    'LOG_UNREACHABLE',
    `The event log ${path} cannot be opened, read or written (${text}). Check that the directory exists, is writable for this user and its disk is well.`,
    { cause },
  );

/** What the system itself says about a file needs no guess beside it. */
const unusable = (path: string, problem: string, cause: unknown): FleetGcError =>
  new FleetGcError('LOG_UNREACHABLE', `The event log ${path} cannot be used: ${problem}.`, { cause });

const isDiskFull = (error: unknown): boolean => ['ENOSPC', 'EDQUOT'].includes(systemCode(error) ?? '');
const isOfSqlite = (error: unknown): boolean => sqliteCode(error) !== null;

const fullError = (path: string, cause: unknown): FleetGcError =>
  new FleetGcError(
    'LOG_FULL',
    `The event log ${path} cannot grow: its disk or its own limit is full. Nothing of this write was kept. Free 40 MB on that disk, raise the limit (--log-max-size), or name a file on another disk (--log-path). A process that still runs then writes on by itself; one that ended has to be started again.`,
    { cause },
  );

/** Says in the operator's words what the driver reported. */
export function toEventLogError(path: string, error: unknown): FleetGcError {
  if (error instanceof FleetGcError) return error;
  const text = error instanceof Error ? error.message : String(error);
  if (isFull(error) || isDiskFull(error)) return fullError(path, error);
  const problem = systemProblem(error, path);
  if (problem !== null) return unusable(path, problem, error);
  if (systemCode(error) !== null && !isOfSqlite(error)) return unreachable(path, text, error);
  switch (sqliteCode(error)) {
    case SQLITE.BUSY:
    case SQLITE.LOCKED:
      return busyError(path, error);
    case SQLITE.NOTADB:
      return noEventLogError(path, text, error);
    case SQLITE.CORRUPT:
      return corruptError(path, text, error);
    case SQLITE.PERM:
    case SQLITE.READONLY:
    case SQLITE.IOERR:
    case SQLITE.CANTOPEN:
      return unreachable(path, text, error);
    default:
      return toFleetGcError(error);
  }
}
