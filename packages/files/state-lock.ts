import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { FleetGcError } from '../process/errors.ts';

/** What a process is to a state directory: each role has files that only one process writes. */
export type StateRole = 'agent' | 'executor';

/** SQLite's primary result code for a file that another connection has locked. */
const BUSY = 5;

/**
 * Takes the roles for as long as the process lives, or until disposed of. The kernel holds the lock, so it ends with
 * the process however that ends, and holds between containers too, which do not see each other's process ids. Node's
 * only way to such a lock is its SQLite. Throws `STATE_IN_USE`, and `STATE_UNWRITABLE` when there can be no lock.
 */
export function lockState(directory: string, roles: readonly StateRole[]): Disposable {
  using taken = new DisposableStack();
  for (const role of roles) taken.use(lockRole(directory, role));
  return taken.move();
}

const lockRole = (directory: string, role: StateRole): Disposable =>
  lockFile(join(directory, `${role}.lock`), (cause) => inUse(directory, role, cause));

/** Takes one file in the same way; throws what `inUse` gives when another process has it. */
export function lockFile(path: string, inUse: (cause: unknown) => FleetGcError): Disposable {
  using opened = new DisposableStack();
  try {
    const db = opened.adopt(new DatabaseSync(path, { timeout: 0 }), (open) => open.close());
    db.exec('BEGIN EXCLUSIVE');
    return opened.move();
  } catch (cause) {
    throw isBusy(cause) ? inUse(cause) : unlockable(path, cause);
  }
}

const isBusy = (error: unknown): boolean =>
  error instanceof Error && 'errcode' in error && Number(error.errcode) % 256 === BUSY;

const inUse = (directory: string, role: StateRole, cause: unknown): FleetGcError =>
  new FleetGcError(
    'STATE_IN_USE',
    `another process is the ${role} of the state directory ${directory} already: stop that one (fuser ${join(directory, `${role}.lock`)} says which), or give this one another --state-directory`,
    { cause },
  );

const unlockable = (path: string, cause: unknown): FleetGcError =>
  new FleetGcError(
    'STATE_UNWRITABLE',
    `cannot lock ${path}, which keeps a second process away: ${cause instanceof Error ? cause.message : cause}; is its filesystem read-only or full?`,
    { cause },
  );
