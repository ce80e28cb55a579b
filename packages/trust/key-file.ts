import { closeSync, constants, fstatSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { FleetGcError, toFleetGcError } from '../process/errors.ts';
import { unreadableReason } from '../process/options/named-file.ts';
import { readSigningKey, type SigningKey } from './key-pair.ts';

/** A PKCS #8 text of an Ed25519 key has 119 bytes; what is before and behind it may be a comment. */
const MAX_BYTES = 16_384;
const READ_BY_OTHERS = 0o007;

/** The private key in a file that none but its user and group can open. Throws `KEY_UNUSABLE`. */
export function readKeyFile(path: string): SigningKey {
  return readSigningKey(privateText(path), path);
}

function privateText(path: string): string {
  const fd = opened(path);
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile()) throw unusable(path, 'it is no file');
    if (stat.size > MAX_BYTES) throw unusable(path, `it has more than ${MAX_BYTES} bytes`);
    if ((stat.mode & READ_BY_OTHERS) !== 0)
      throw unusable(path, `every user of this machine may open it; "chmod o= ${path}" mends that`);
    return readFileSync(fd, 'utf8');
  } finally {
    closeSync(fd);
  }
}

/** To open a pipe would else wait for its writer, and the process with it. */
function opened(path: string): number {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    throw unusable(path, unreadableReason(error), error);
  }
}

/** Writes a new private key for its user alone, and never over another one. Throws `KEY_UNUSABLE`. */
export function writeKeyFile(path: string, privateKeyPem: string): void {
  try {
    writeFileSync(path, privateKeyPem, { flag: 'wx', mode: 0o600, flush: true });
  } catch (error) {
    throw unusable(path, unwritableReason(path, error), error);
  }
}

function unwritableReason(path: string, error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  const folder = dirname(path);
  if (code === 'EEXIST') return 'it is there already, and no key is overwritten';
  if (code === 'ENOENT') return `there is no folder ${folder}; "mkdir -m 700 -p ${folder}" makes it`;
  if (code === 'EACCES') return `this user may not write to ${folder}; give a file in another folder`;
  return toFleetGcError(error).message;
}

const unusable = (path: string, why: string, cause?: unknown): FleetGcError =>
  new FleetGcError('KEY_UNUSABLE', `the key file ${path} cannot be used: ${why}`, { cause });
