import { join } from 'node:path';
import { lockFile } from '../files/file-lock.ts';
import { FleetGcError } from '../process/errors.ts';

/** What a process is to a state directory: each role has files that only one process writes. */
export type StateRole = 'agent' | 'executor';

/**
 * Takes the roles for as long as the process lives, or until disposed of; it holds between containers too. Throws
 * `STATE_IN_USE`, and `STATE_UNWRITABLE` when there can be no lock.
 */
export function lockState(directory: string, roles: readonly StateRole[]): Disposable {
  using taken = new DisposableStack();
  for (const role of roles) taken.use(lockRole(directory, role));
  return taken.move();
}

const lockRole = (directory: string, role: StateRole): Disposable =>
  lockFile(join(directory, `${role}.lock`), (cause) => inUse(directory, role, cause));

const inUse = (directory: string, role: StateRole, cause: unknown): FleetGcError =>
  new FleetGcError(
    'STATE_IN_USE',
    `another process is the ${role} of the state directory ${directory} already: stop that one (fuser ${join(directory, `${role}.lock`)} says which), or give this one another --state-directory`,
    { cause },
  );
