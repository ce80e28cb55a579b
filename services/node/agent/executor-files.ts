import type { Logger } from 'pino';
import type { ReadOnlyFile } from '../../../packages/files/fixed-file.ts';
import type { StateDirectory } from '../../../packages/machine/state-directory.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import { BACKOFF_FILE, BackoffFile } from '../../../schemas/state/removal-backoff.ts';
import { REMOVED_IMAGES_FILE, RemovedImagesFile } from '../../../schemas/state/removed-images.ts';
import type { BackoffEntries } from './event.ts';
import type { RemovedImage } from './history.ts';

type Reading = Pick<StateDirectory, 'openReadOnly'>;

/**
 * Reads the executor's table of failing objects. Without it none is reported: the executor, which has the last word,
 * still leaves them alone.
 */
export function backoffReader(state: Reading, logger: Logger): () => BackoffEntries {
  const file = state.openReadOnly(BACKOFF_FILE, BackoffFile);
  const read = readable(file, 'backoff table unreadable: none is reported', logger);
  return () => read()?.objects ?? [];
}

/** Reads what the executor removed lately. Without it an image that is pulled again at once keeps its record. */
export function removedImagesReader(state: Reading, logger: Logger): () => readonly RemovedImage[] {
  const file = state.openReadOnly(REMOVED_IMAGES_FILE, RemovedImagesFile);
  const read = readable(file, 'removed images unreadable: one that comes back at once keeps its age', logger);
  return () => read()?.images ?? [];
}

/** `null` also while the file cannot be read, which is logged once. */
function readable<T>(file: ReadOnlyFile<T>, unreadable: string, logger: Logger): () => T | null {
  let problem: string | null = null;
  return () => {
    try {
      const content = file.read();
      problem = null;
      return content;
    } catch (error) {
      const { message } = toFleetGcError(error);
      if (problem !== message) logger.warn({ problem: message }, unreadable);
      problem = message;
      return null;
    }
  };
}
