import { lstat, readdir, realpath, rm } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import type { ListedContainer } from '../shared/cri/listing-types.ts';
import type { LogDirectories } from '../shared/log-directories.ts';
import { flatSymlink, foreignLogPath, unsafeLogPath } from './log-path.ts';
import { unlessMissing } from './missing.ts';

/** What goes with a container: found and judged first, removed after. */
export type LogFiles =
  | { readonly safe: true; readonly paths: readonly string[] }
  | { readonly safe: false; readonly problem: string };

/**
 * Finds everything that begins with the container's log path, rotated files included (G20), and then its flat symlink
 * (G22). Files that belong to another listed container as well, with the same or a longer log path, are not among them:
 * they go with the last of these containers.
 */
export async function findLogFiles(
  container: ListedContainer,
  others: readonly ListedContainer[],
  directories: LogDirectories,
): Promise<LogFiles> {
  const { logPath } = container;
  const symlink = flatSymlink(container, directories);
  const problem =
    unsafeLogPath(logPath, directories) ??
    foreignLogPath(container, directories) ??
    sharedLogPath(container, others) ??
    (symlink === null ? "the names in the container's labels hold a slash" : undefined) ??
    (await leadsElsewhere(logPath, directories.podLogsDir));
  if (problem !== undefined) return { safe: false, problem };
  const ofOthers = others
    .filter(({ id, logPath: other }) => id !== container.id && other.startsWith(logPath))
    .map((other) => other.logPath);
  const files = (await namesIn(dirname(logPath)))
    .filter((name) => name.startsWith(basename(logPath)))
    .map((name) => join(dirname(logPath), name))
    .filter((path) => !ofOthers.some((other) => path.startsWith(other)));
  return { safe: true, paths: symlink !== null && (await isSymlink(symlink)) ? [...files, symlink] : files };
}

/** A file that is gone is no error; anything else ends it (G19). */
export async function removeLogFiles(paths: readonly string[]): Promise<void> {
  for (const path of paths) await rm(path, { force: true });
}

function sharedLogPath(
  { id, logPath }: ListedContainer,
  others: readonly ListedContainer[],
): string | undefined {
  const other = others.find((one) => one.id !== id && one.state === 'running' && one.logPath === logPath);
  return other && `the running container ${other.id} writes to the same log path ${logPath}`;
}

/** Between the root and the file every directory must be what it is called: a symlink could lead anywhere. */
async function leadsElsewhere(logPath: string, podLogsDir: string): Promise<string | undefined> {
  const directory = dirname(logPath);
  const [root, found] = await Promise.all([realPathOf(podLogsDir), realPathOf(directory)]);
  if (root === null) return `the pod log directory ${podLogsDir} is not there`;
  if (found === null || found === join(root, relative(podLogsDir, directory))) return undefined;
  return `the log path ${logPath} leads over a symlink to ${found}`;
}

const realPathOf = (path: string): Promise<string | null> => unlessMissing(realpath(path), null);

const namesIn = (directory: string): Promise<readonly string[]> => unlessMissing(readdir(directory), []);

const isSymlink = (path: string): Promise<boolean> =>
  unlessMissing(
    lstat(path).then((entry) => entry.isSymbolicLink()),
    false,
  );
