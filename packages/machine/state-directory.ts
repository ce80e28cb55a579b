import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { sha256Hex } from '../canonical/ids.ts';
import {
  createFixedFile,
  type FixedFile,
  openFixedFile,
  openReadOnlyFile,
  type ReadOnlyFile,
} from '../files/fixed-file.ts';
import { makeDirectories } from '../files/make-directories.ts';
import { FleetGcError } from '../process/errors.ts';

const Identity = z.object({ nodeInstance: z.uuid() });
const IDENTITY_BYTES = 1_000;
const OWNER_ONLY = 0o700;
const NO_MACHINE_ID =
  'the machine id is empty, and without one a copied disk would pass for this node: run systemd-machine-id-setup, or name a file that holds an id';

const ADVICE = 'nothing was started; --state-directory names another place';

/** What agent and executor of one installation share and keep. */
export interface StateDirectory {
  readonly path: string;
  /** Random, made at the first start on this machine and kept since. */
  readonly nodeInstance: string;
  /** For the one process that writes the file; `sizeBytes` is room for the value as JSON. */
  open<T>(name: string, sizeBytes: number, schema: z.ZodType<T>): FixedFile<T>;
  /** For a file that another process writes. */
  openReadOnly<T>(name: string, schema: z.ZodType<T>): ReadOnlyFile<T>;
}

/**
 * Opens the state directory, making it if it is missing. `machineId` is the content of /etc/machine-id: on another
 * machine (a copied disk) the node is another instance. Throws `STATE_UNWRITABLE` and `STATE_UNREADABLE`.
 */
export function openStateDirectory(path: string, machineId: string): StateDirectory {
  if (machineId.trim() === '') throw new FleetGcError('CONFIG_INVALID', NO_MACHINE_ID);
  const problem = makeDirectories(path, OWNER_ONLY);
  if (problem !== null)
    throw new FleetGcError(
      'STATE_UNWRITABLE',
      `cannot make the state directory ${path}: ${problem}; ${ADVICE}`,
    );
  return {
    path,
    nodeInstance: withAdvice(() => instanceOf(path, machineId)),
    open: (name, sizeBytes, schema) => withAdvice(() => openFixedFile(join(path, name), sizeBytes, schema)),
    openReadOnly: (name, schema) => openReadOnlyFile(join(path, name), schema),
  };
}

/** What takes space is made before anything begins: what is missing then is for people to give. */
function withAdvice<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof FleetGcError) || error.code !== 'STATE_UNWRITABLE') throw error;
    throw new FleetGcError('STATE_UNWRITABLE', `${error.message}; ${ADVICE}`, { cause: error });
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
