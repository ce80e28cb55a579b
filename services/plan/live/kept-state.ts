import { join } from 'node:path';
import { openReadOnlyFile } from '../../../packages/files/fixed-file.ts';
import type { StateDirectory } from '../../../packages/machine/state-directory.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { IMAGE_HISTORY_FILE, ImageHistoryFile } from '../../../schemas/state/image-history.ts';

/** What agent and executor of a node keep, for one who only reads it. */
export type KeptState = Pick<StateDirectory, 'open' | 'openReadOnly'>;

/** The files of a state directory as they are; without a directory there is none of them. Writes nothing, takes no lock. */
export function keptState(directory: string | undefined): KeptState {
  const openReadOnly: KeptState['openReadOnly'] = (name, schema) =>
    directory === undefined ? { read: () => null } : openReadOnlyFile(join(directory, name), schema);
  return {
    openReadOnly,
    open: (name, _sizeBytes, schema) => ({ ...openReadOnly(name, schema), write: refuseToWrite }),
  };
}

function refuseToWrite(): never {
  throw new FleetGcError('INTERNAL', 'who only asks for a plan keeps nothing');
}

/** Whether an agent has kept when images were seen and used. Throws `STATE_UNREADABLE`. */
export const hasHistory = (state: KeptState): boolean =>
  state.openReadOnly(IMAGE_HISTORY_FILE, ImageHistoryFile).read() !== null;
