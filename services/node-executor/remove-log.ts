import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readdir, rmdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { containerIdOfSymlink, containersOfSymlink, podUidOfLogDirectory } from '../../schemas/log-names.ts';
import type { CompleteListing } from '../shared/cri/listing-types.ts';
import type { LogDirectories } from '../shared/log-directories.ts';
import { type Attempt, failed, NOT_FOUND, REMOVED, refused } from './attempt.ts';
import { codeOf, unlessMissing } from './missing.ts';
import type { Refusal } from './results.ts';

/** Deeper trees than the kubelet makes are not gone into. */
const MAX_DEPTH = 16;

/**
 * Removes one entry of the directory of pod logs with all below it (I3), never following a link and never leaving the
 * filesystem of the root: every directory is opened as itself, and what is removed is named below what was opened.
 * Never rejects.
 */
export async function removePodLogDirectory(
  { name, podUid }: { readonly name: string; readonly podUid: string },
  { podLogsDir }: Pick<LogDirectories, 'podLogsDir'>,
): Promise<Attempt> {
  if (!isOneSegment(name) || podUid === '' || podUidOfLogDirectory(name) !== podUid) return unsafe(name);
  return inDirectory(podLogsDir, async (root) => {
    const path = `${pathOf(root)}/${name}`;
    const entry = await unlessMissing(lstat(path), null);
    if (entry === null) return NOT_FOUND;
    if (entry.isSymbolicLink()) return unsafe(name);
    const { dev } = await root.stat();
    await removeTree(path, { device: dev, depth: MAX_DEPTH });
    return REMOVED;
  });
}

/**
 * Removes one flat symlink whose target does not exist (I4), unless a container that it can mean has not exited (I6,
 * I7). Never rejects.
 */
export async function removeLogSymlink(
  name: string,
  { containers }: Pick<CompleteListing, 'containers'>,
  { containerLogsDir }: Pick<LogDirectories, 'containerLogsDir'>,
): Promise<Attempt> {
  if (!isOneSegment(name) || !name.endsWith('.log')) return unsafe(name);
  const needed = neededBy(name, containers);
  if (needed) return refused(needed);
  return inDirectory(containerLogsDir, async (root) => {
    const path = `${pathOf(root)}/${name}`;
    const entry = await unlessMissing(lstat(path), null);
    if (entry === null) return NOT_FOUND;
    if (!entry.isSymbolicLink()) return unsafe(name);
    if ((await unlessMissing(stat(path), null)) !== null) return refused(TARGET_EXISTS);
    await unlink(path);
    return REMOVED;
  });
}

/** Whether an entry of a log directory is not there; `null` when that cannot be seen. */
export async function isLogGone(
  kind: 'pod-log-directory' | 'log-symlink',
  name: string,
  { podLogsDir, containerLogsDir }: LogDirectories,
): Promise<boolean | null> {
  const directory = kind === 'log-symlink' ? containerLogsDir : podLogsDir;
  try {
    return isOneSegment(name) && (await unlessMissing(lstat(join(directory, name)), null)) === null;
  } catch {
    return null;
  }
}

function neededBy(name: string, containers: CompleteListing['containers']): Refusal | undefined {
  const id = containerIdOfSymlink(name);
  const meant = id === null ? [] : containersOfSymlink(id, containers);
  const container = meant.find(({ state }) => state !== 'exited');
  if (container === undefined) return undefined;
  const reason = container.state === 'running' ? 'running' : 'in-use';
  return { reason, message: `the container ${container.id} is ${container.state} and may write its log yet` };
}

const TARGET_EXISTS: Refusal = { reason: 'target-exists', message: 'the log that it leads to is there' };

const unsafe = (name: string): Attempt =>
  refused({ reason: 'unsafe-log-path', message: `${name} is not what is to be removed there` });

const isOneSegment = (name: string): boolean => !['', '.', '..'].includes(name) && !/[/\0]/.test(name);

/** Whoever renames or replaces a directory that is open does not change where this path leads. */
const pathOf = ({ fd }: FileHandle): string => `/proc/self/fd/${fd}`;

async function inDirectory(
  directory: string,
  action: (root: FileHandle) => Promise<Attempt>,
): Promise<Attempt> {
  try {
    await using root = await open(directory, constants.O_RDONLY | constants.O_DIRECTORY);
    return await action(root);
  } catch (error) {
    return failed('log-removal-failed', error);
  }
}

interface Bounds {
  readonly device: number;
  /** So many directories further down at most. */
  readonly depth: number;
}

/** Somebody else may remove the same: what is missing is no error. */
async function removeTree(path: string, bounds: Bounds): Promise<void> {
  const directory = await openAsDirectory(path);
  if (directory === null) return unlessMissing(unlink(path), undefined);
  try {
    if (bounds.depth === 0) throw new Error('there are more directories in each other than logs have');
    if ((await directory.stat()).dev !== bounds.device)
      throw new Error('another filesystem is mounted there');
    for (const name of await readdir(pathOf(directory))) {
      await removeTree(`${pathOf(directory)}/${name}`, { ...bounds, depth: bounds.depth - 1 });
    }
  } finally {
    await directory.close();
  }
  await unlessMissing(rmdir(path), undefined);
}

/** `null` for anything else than a directory, a symlink to one included, and for nothing. */
async function openAsDirectory(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (error) {
    if (['ENOTDIR', 'ELOOP', 'ENOENT'].includes(codeOf(error))) return null;
    throw error;
  }
}
