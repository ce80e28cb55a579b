import { fileURLToPath } from 'node:url';

/** The command itself. */
export const PROGRAM = fileURLToPath(new URL('../../bin/fleetgc', import.meta.url));

/** Signatures have tests of their own. */
export const UNSIGNED_FLEET: Readonly<Record<string, string>> = { FLEETGC_TRUST: 'off' };

/** What a process of our own gets of the environment: the path, and no more. */
export const PROGRAM_ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: process.env.PATH ?? '',
  ...UNSIGNED_FLEET,
};
