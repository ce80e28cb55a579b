import { readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { StateRole } from '../../../packages/machine/state-lock.ts';
import type { LockHolder } from '../findings/machine.ts';

const ROLES = ['agent', 'executor'] as const satisfies readonly StateRole[];
const OWN_PROGRAM = /(^|\/)cli(\/main\.ts|\.mjs)$/;
const MOST_COMMAND_CHARACTERS = 80;

/**
 * Which processes hold the locks of a state directory, as the kernel tells: to try a lock could keep away a process that starts
 * just then. Processes of other containers are hidden from one that has its own numbers. Throws where `/proc` cannot be read.
 */
export function lockHolders(directory: string): readonly LockHolder[] {
  const locks = readFileSync('/proc/locks', 'utf8');
  return ROLES.flatMap((role) => {
    const file = join(directory, `${role}.lock`);
    const inode = statSync(file, { bigint: true, throwIfNoEntry: false })?.ino;
    if (inode === undefined) return [];
    return pidsOf(locks, inode)
      .filter((pid) => mayHaveOpen(pid, realpathSync(file)))
      .map((pid) => ({ role, pid, command: commandOf(pid) }));
  });
}

/** From lines such as `1: POSIX  ADVISORY  WRITE 1234 08:01:5678 0 EOF`. */
export const pidsOf = (locks: string, inode: bigint): readonly number[] => [
  ...new Set(
    [...locks.matchAll(/^\d+: POSIX +\S+ +WRITE +(\d+) +[0-9a-f]+:[0-9a-f]+:(\d+) /gm)].flatMap(
      ([, pid, locked]) => (locked === String(inode) ? [Number(pid)] : []),
    ),
  ),
];

/** The number of a file is of one filesystem alone. A process that cannot be looked at may be the one. */
function mayHaveOpen(pid: number, file: string): boolean {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).some((fd) => readlinkSync(join(folder, fd)) === file);
  } catch {
    return true;
  }
}

function commandOf(pid: number): string {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    // What Node.js gets of it says nothing to anybody.
    const program = words.findIndex((word) => OWN_PROGRAM.test(word));
    const told = program === -1 ? words : ['fleetgc', ...words.slice(program + 1)];
    return told.join(' ').trim().slice(0, MOST_COMMAND_CHARACTERS).toWellFormed();
  } catch {
    return '';
  }
}
