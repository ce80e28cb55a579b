import type { Logger } from 'pino';
import { BACKOFF_FILE, BackoffFile } from '../../schemas/backoff.ts';
import { toFleetGcError } from '../shared/errors.ts';
import type { StateDirectory } from '../shared/state-directory.ts';
import type { BackoffEntries } from './inventory-objects.ts';

/**
 * Reads the executor's table of failing objects. Without it none is reported: the executor, which has the last word,
 * still leaves them alone.
 */
export function backoffReader(
  state: Pick<StateDirectory, 'openReadOnly'>,
  logger: Logger,
): () => BackoffEntries {
  const file = state.openReadOnly(BACKOFF_FILE, BackoffFile);
  let problem: string | null = null;
  return () => {
    try {
      const entries = file.read()?.objects ?? [];
      problem = null;
      return entries;
    } catch (error) {
      const { message } = toFleetGcError(error);
      if (problem !== message)
        logger.warn({ problem: message }, 'back-off table unreadable: none is reported');
      problem = message;
      return [];
    }
  };
}
