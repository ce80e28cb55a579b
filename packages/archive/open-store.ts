import { FleetGcError } from '../process/errors.ts';
import { directoryStore } from './directory-store.ts';
import { type ArchivePlace, type ArchiveStore, placeText } from './store.ts';

/** Nobody who has a directory loads what object storage needs. Throws `NOT_FOUND` where that is not installed. */
export async function openStore(place: ArchivePlace): Promise<ArchiveStore> {
  if (typeof place === 'string') return directoryStore(place);
  try {
    const { openS3Store } = await import('./s3/s3-store.ts');
    return openS3Store(place);
  } catch (cause) {
    throw isMissing(cause) ? notInstalled(placeText(place), cause) : cause;
  }
}

const CODES: readonly unknown[] = ['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'];

const isMissing = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  CODES.includes(error.code) &&
  error.message.includes('@aws-sdk/');

const notInstalled = (name: string, cause: unknown): FleetGcError =>
  new FleetGcError(
    'NOT_FOUND',
    `${name} cannot be read: the SDK of AWS is not installed here, and the container image leaves it out. Run "npm ci" in the source, and the verb from there`,
    { cause },
  );
