import { readFileSync } from 'node:fs';
import { FleetGcError, toFleetGcError } from '../../../process/errors.ts';

/** What the file holds now. Throws `CONFIG_INVALID` where it cannot be read. */
export function readSecret(path: string, what: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new FleetGcError(
      'CONFIG_INVALID',
      `The ${what} for Kafka cannot be read: ${toFleetGcError(error).message}. Check the path and the rights of the file.`,
      { cause: error },
    );
  }
}

/** The line break at its end is none of the password. */
export const passwordIn = (path: string): string => readSecret(path, 'password file').replace(/\r?\n$/, '');

/** A file that is being replaced may be away or half written: what fails then is tried again, unlike a wrong path at the start. */
export function whileRunning<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new FleetGcError('LOG_UNREACHABLE', toFleetGcError(error).message, { cause: error });
  }
}
