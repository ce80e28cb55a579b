import { dirname } from 'node:path';
import { writeNewFile } from '../../files/open-file.ts';
import { FleetGcError, toFleetGcError } from '../../process/errors.ts';
import { readPrivateFile } from '../../process/options/private-file.ts';
import { systemProblem } from '../../process/system-problem.ts';
import { readSigningKey, type SigningKey } from './key-pair.ts';

/** A PKCS #8 text of an Ed25519 key has 119 bytes; what is before and behind it may be a comment. */
const MAX_BYTES = 16_384;

/** The private key in a file that none but its user and group can open. Throws `KEY_UNUSABLE`. */
export function readKeyFile(path: string): SigningKey {
  const file = readPrivateFile(path, MAX_BYTES);
  if (!file.ok) throw unusable(path, file.reason, file.cause);
  return readSigningKey(file.text, path);
}

/** Writes a new private key for its user alone, and never over another one. Throws `KEY_UNUSABLE`. */
export function writeKeyFile(path: string, privateKeyPem: string): void {
  try {
    writeNewFile(path, privateKeyPem);
  } catch (error) {
    throw unusable(path, unwritableReason(path, error), error);
  }
}

function unwritableReason(path: string, error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  const folder = dirname(path);
  if (code === 'EEXIST') return 'it is there already, and no key is overwritten';
  if (code === 'ENOENT') return `there is no folder ${folder}; "mkdir -m 700 -p ${folder}" makes it`;
  return systemProblem(error, path) ?? toFleetGcError(error).message;
}

const unusable = (path: string, why: string, cause?: unknown): FleetGcError =>
  new FleetGcError('KEY_UNUSABLE', `the key file ${path} cannot be used: ${why}`, { cause });
