import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { sha256Hex } from '../canonical/ids.ts';
import { lockFile } from '../files/file-lock.ts';
import {
  createFixedFile,
  type FixedFile,
  openFixedFile,
  openReadOnlyFile,
  type ReadOnlyFile,
} from '../files/fixed-file.ts';
import { makeDirectories } from '../files/make-directories.ts';
import { reportIfWide } from '../files/wide-files.ts';
import { FleetGcError } from '../process/errors.ts';

const Identity = z.object({ nodeInstance: z.uuid() });
const IDENTITY_BYTES = 1_000;
const NO_MACHINE_ID =
  'the machine id is empty, and without one a copied disk would pass for this node: run systemd-machine-id-setup, or name a file that holds an id';

const ELSEWHERE = '--state-directory names another place';
const NOT_STARTED = `nothing was started; ${ELSEWHERE}`;

/** A directory of files that outlive a process. */
export interface StateFiles {
  readonly path: string;
  /** For the one process that writes the file; `sizeBytes` is room for the value as JSON. */
  open<T>(name: string, sizeBytes: number, schema: z.ZodType<T>): FixedFile<T>;
  /** For a file that another process writes. */
  openReadOnly<T>(name: string, schema: z.ZodType<T>): ReadOnlyFile<T>;
}

/** What agent and executor of one installation share and keep. */
export interface StateDirectory extends StateFiles {
  /** Random, made at the first start on this machine and kept since. */
  readonly nodeInstance: string;
}

/** Makes the directory if it is missing. Throws `STATE_UNWRITABLE`. */
export function openStateFiles(path: string): StateFiles {
  const problem = makeDirectories(path);
  if (problem !== null)
    throw new FleetGcError(
      'STATE_UNWRITABLE',
      `cannot make the state directory ${path}: ${problem}; ${NOT_STARTED}`,
    );
  reportIfWide(path, statSync(path).mode, 'directory');
  return {
    path,
    open: (name, sizeBytes, schema) =>
      withAdvice(ELSEWHERE, () => openFixedFile(join(path, name), sizeBytes, schema)),
    openReadOnly: (name, schema) => openReadOnlyFile(join(path, name), schema),
  };
}

/**
 * Opens the state directory, making it if it is missing. `machineId` is the content of /etc/machine-id: on another
 * machine (a copied disk) the node is another instance. Throws `STATE_UNWRITABLE` and `STATE_UNREADABLE`.
 */
export function openStateDirectory(path: string, machineId: string): StateDirectory {
  if (machineId.trim() === '') throw new FleetGcError('CONFIG_INVALID', NO_MACHINE_ID);
  const files = openStateFiles(path);
  return { ...files, nodeInstance: withAdvice(NOT_STARTED, () => instanceOf(path, machineId)) };
}

/** A file that a role keeps, and the room it needs for its value as JSON. */
export interface StateFile {
  readonly name: string;
  readonly bytes: number;
}

/**
 * Makes what a role keeps, where it keeps nothing yet: what is missing before anything begins is for people to give. The
 * main file is made last, so that a start that failed is a first start again; a role that has it goes on without the
 * others. Throws `STATE_UNWRITABLE`.
 */
export function makeStateFiles(
  directory: string,
  { main, others }: { readonly main: StateFile; readonly others: readonly StateFile[] },
): void {
  if (statSync(join(directory, main.name), { throwIfNoEntry: false }) !== undefined) return;
  withAdvice(NOT_STARTED, () => {
    for (const { name, bytes } of [...others, main]) createFixedFile(join(directory, name), bytes, null);
  });
}

function withAdvice<T>(advice: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof FleetGcError) || error.code !== 'STATE_UNWRITABLE') throw error;
    throw new FleetGcError('STATE_UNWRITABLE', `${error.message}; ${advice}`, { cause: error });
  }
}

/** One file per machine id, made whole with its value, so that two processes starting together agree. */
function instanceOf(path: string, machineId: string): string {
  const file = join(path, `instance-${sha256Hex(machineId.trim()).slice(0, 16)}`);
  createFixedFile(file, IDENTITY_BYTES, { nodeInstance: randomUUID() });
  const identity = openReadOnlyFile(file, Identity).read();
  if (identity) return identity.nodeInstance;
  throw new FleetGcError(
    'STATE_UNREADABLE',
    `the state file ${file} is empty or was just removed: start again`,
  );
}

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
