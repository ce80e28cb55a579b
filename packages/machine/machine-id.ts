import { readFileSync } from 'node:fs';
import { FleetGcError } from '../process/errors.ts';

/** systemd's file; in a container the node's own must be mounted there. */
const MACHINE_ID_FILE = '/etc/machine-id';

/** What tells this machine from a copy of its disk. Throws `CONFIG_INVALID` when there is none. */
export function readMachineId(file: string = MACHINE_ID_FILE): string {
  const id = contentOf(file).trim();
  if (/^[0-9a-f-]{32,36}$/i.test(id)) return id;
  throw new FleetGcError(
    'CONFIG_INVALID',
    `${file} holds no machine id: run systemd-machine-id-setup, or name the node's file`,
  );
}

function contentOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new FleetGcError(
      'CONFIG_INVALID',
      `cannot read the machine id from ${file}: name the node's file, or mount it there`,
      { cause },
    );
  }
}
