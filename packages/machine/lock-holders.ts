import { readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { StateRole } from './state-directory.ts';

export interface LockHolder {
  readonly role: StateRole;
  readonly pid: number;
  /** Its command line; empty where it cannot be seen. */
  readonly command: string;
}

/** A process that removes, and keeps its state elsewhere. */
export interface OtherExecutor extends Omit<LockHolder, 'role'> {
  readonly stateDirectory: string;
  /** As its option or variable gives it; `null` where neither does. */
  readonly runtimeEndpoint: string | null;
}

/** Where the kernel lists processes and their owners, and which user this process runs as. */
interface Kernel {
  readonly directory: string;
  readonly uidOf: (pid: number) => number | undefined;
  readonly ownUid: number | undefined;
}

const KERNEL: Kernel = {
  directory: '/proc',
  uidOf: (pid) => statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid,
  ownUid: process.geteuid?.(),
};

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
      .map((pid) => ({ role, pid, command: commandIn(`/proc/${pid}`) }));
  });
}

/**
 * Processes that remove from a container runtime and hold the executor's lock of another state directory. Only a warning hangs on it: what
 * cannot be seen (of other containers) is left out, and so are processes of users who could not remove anything, since a name and a lock
 * are easily made up.
 */
export function otherExecutors(stateDirectory: string, kernel: Kernel = KERNEL): readonly OtherExecutor[] {
  const own = join(stateDirectory, LOCK_OF_EXECUTOR);
  return [...new Set(allPidsOf(textOf(join(kernel.directory, 'locks'))))]
    .filter((pid) => isOfRootOrOwn(kernel.uidOf(pid), kernel.ownUid))
    .map((pid) => ({ pid, folder: join(kernel.directory, String(pid)) }))
    .map(({ pid, folder }) => ({ pid, folder, command: commandIn(folder) }))
    .filter(({ command }) => REMOVES_FROM_RUNTIME.test(command))
    .flatMap(({ pid, folder, command }) =>
      openFilesIn(folder)
        .filter((file) => basename(file) === LOCK_OF_EXECUTOR && !isSameFile(file, own))
        .map((file) => ({
          pid,
          command,
          stateDirectory: dirname(file),
          runtimeEndpoint: endpointIn(folder),
        })),
    );
}

const LOCK_OF_EXECUTOR = 'executor.lock';
/** The executor of a cluster has such a lock too, and no runtime. */
const REMOVES_FROM_RUNTIME = /^fleetgc (run|node|node-executor)( |$)/;

/** `null` for a process that has ended in the meantime. */
const isOfRootOrOwn = (uid: number | undefined, own: number | undefined): boolean =>
  uid !== undefined && (uid === 0 || uid === own);

const allPidsOf = (locks: string): readonly number[] =>
  [...locks.matchAll(/^\d+: POSIX +\S+ +WRITE +(\d+) /gm)].map(([, pid]) => Number(pid));

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function openFilesIn(folder: string): readonly string[] {
  const files = join(folder, 'fd');
  try {
    return readdirSync(files).flatMap((fd) => linkOf(join(files, fd)));
  } catch {
    return [];
  }
}

/** None where the file was closed meanwhile. */
function linkOf(fd: string): readonly string[] {
  try {
    return [readlinkSync(fd)];
  } catch {
    return [];
  }
}

function isSameFile(one: string, other: string): boolean {
  const [a, b] = [one, other].map((path) => statSync(path, { bigint: true, throwIfNoEntry: false }));
  return a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev;
}

function endpointIn(folder: string): string | null {
  const words = textOf(join(folder, 'cmdline')).split('\0');
  const at = words.findIndex((word) => /^--runtime-endpoint(=|$)/.test(word));
  const given = words[at]?.split('=')[1] ?? (at === -1 ? undefined : words[at + 1]);
  const variables = textOf(join(folder, 'environ')).split('\0');
  const variable = variables.find((each) => each.startsWith('FLEETGC_RUNTIME_ENDPOINT='));
  return given ?? variable?.split('=')[1] ?? null;
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

function commandIn(folder: string): string {
  const words = textOf(join(folder, 'cmdline')).split('\0');
  // What Node.js gets of it says nothing to anybody.
  const program = words.findIndex((word) => OWN_PROGRAM.test(word));
  const told = program === -1 ? words : ['fleetgc', ...words.slice(program + 1)];
  return told.join(' ').trim().slice(0, MOST_COMMAND_CHARACTERS).toWellFormed();
}
