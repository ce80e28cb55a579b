import type { Logger } from 'pino';
import type { FixedFile } from '../../../packages/files/fixed-file.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';

/** A value of the state directory that its owner can go on without. */
interface BestEffortFile<T> {
  /** What an earlier process wrote; `null` when there is nothing usable. */
  readonly found: T | null;
  /** Why what is there could not be used; `null` when it could, or nothing was there. */
  readonly unreadable: string | null;
  /** Whether it was written. A failure is logged once until it works again. */
  write(value: T): boolean;
}

/** A full or broken disk costs the memory over a restart and nothing else. */
export function openBestEffortFile<T>(
  open: () => FixedFile<T>,
  what: string,
  logger: Logger,
): BestEffortFile<T> {
  const { file, found, unreadable } = tryToRead(open);
  if (unreadable !== null) logger.error({ problem: unreadable }, `${what}: starting afresh`);
  let working = true;
  return {
    found,
    unreadable,
    write: (value) => {
      try {
        (file ?? open()).write(value);
        if (!working) logger.info(`${what}: written again`);
        working = true;
      } catch (error) {
        if (working)
          logger.error({ problem: messageOf(error) }, `${what}: cannot be written, kept in memory`);
        working = false;
      }
      return working;
    },
  };
}

interface Opened<T> {
  readonly file: FixedFile<T> | null;
  readonly found: T | null;
  readonly unreadable: string | null;
}

function tryToRead<T>(open: () => FixedFile<T>): Opened<T> {
  let file: FixedFile<T> | null = null;
  try {
    file = open();
    return { file, found: file.read(), unreadable: null };
  } catch (error) {
    return { file, found: null, unreadable: messageOf(error) };
  }
}

const messageOf = (error: unknown): string => toFleetGcError(error).message;
