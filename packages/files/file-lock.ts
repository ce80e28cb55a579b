import { FleetGcError } from '../process/errors.ts';
import { systemProblem } from '../process/system-problem.ts';
import { openDatabaseFile, RefusedFile } from './open-file.ts';

/** SQLite's primary result code for a file that another connection has locked. */
const BUSY = 5;

/**
 * Takes a file for as long as the process lives, or until disposed of. The kernel holds the lock, so it ends with the process
 * however that ends, and holds between processes that do not see each other's ids. The only way of Node.js to such a
 * lock is its SQLite. Throws what `inUse` gives when another process has it, and `STATE_UNWRITABLE` when there can be no
 * lock.
 */
export function lockFile(path: string, inUse: (cause: unknown) => FleetGcError): Disposable {
  using opened = new DisposableStack();
  try {
    const db = opened.adopt(openDatabaseFile(path, 0), (open) => open.close());
    db.exec('BEGIN EXCLUSIVE');
    return opened.move();
  } catch (cause) {
    throw isBusy(cause) ? inUse(cause) : unlockable(path, cause);
  }
}

const isBusy = (error: unknown): boolean =>
  error instanceof Error && 'errcode' in error && Number(error.errcode) % 256 === BUSY;

function problemOf(cause: unknown): string {
  if (cause instanceof RefusedFile) return cause.reason;
  const problem = systemProblem(cause);
  if (problem !== null) return problem;
  return `${cause instanceof Error ? cause.message : cause}; is its directory there? Is its filesystem read-only or full?`;
}

const unlockable = (path: string, cause: unknown): FleetGcError =>
  new FleetGcError(
    'STATE_UNWRITABLE',
    `cannot lock ${path}, which keeps a second process away: ${problemOf(cause)}`,
    { cause },
  );
