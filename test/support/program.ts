import { fileURLToPath } from 'node:url';

/** The command itself. */
export const PROGRAM = fileURLToPath(new URL('../../bin/fleetgc', import.meta.url));

/** What a process of our own gets of the environment: the path alone. */
export const PROGRAM_ENVIRONMENT: Readonly<Record<string, string>> = { PATH: process.env.PATH ?? '' };
