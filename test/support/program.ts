import { fileURLToPath } from 'node:url';

/** The command itself. */
export const PROGRAM = fileURLToPath(new URL('../../bin/fleetgc', import.meta.url));

/** What a process of our own gets of the environment: the path, and where compiled files are kept from run to run. */
export const PROGRAM_ENVIRONMENT: Readonly<Record<string, string>> = Object.fromEntries(
  ['PATH', 'NODE_COMPILE_CACHE'].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  }),
);
