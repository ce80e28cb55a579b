import type { CompleteListing } from '../../../../packages/cri/listing-types.ts';
import {
  containerIdOfSymlink,
  containersOfSymlinks,
  podUidOfLogDirectory,
} from '../../../../schemas/events/pod-log-entries.ts';
import type { PodLogAccess } from '../node-files.ts';
import type { Refusal } from '../results/results.ts';
import { type OpenDirectory, unlessMissing } from './open-directory.ts';
import { type Attempt, failed, NOT_FOUND, REMOVED, refused } from './removal-attempt.ts';

/** Deeper trees than the kubelet makes are not gone into. */
const MAX_DEPTH = 16;

/**
 * Removes one entry of the directory of pod logs with all below it (I3), never following a link and never leaving the
 * filesystem of the root: every directory is opened as itself, and what is removed is named below what was opened.
 * Never rejects.
 */
export async function removePodLogDirectory(
  { name, podUid }: { readonly name: string; readonly podUid: string },
  roots: Pick<PodLogAccess, 'podLogsDir' | 'openDirectory'>,
): Promise<Attempt> {
  if (!isOneSegment(name) || podUid === '' || podUidOfLogDirectory(name) !== podUid) return unsafe(name);
  return inDirectory(roots, roots.podLogsDir, async (root) => {
    const entry = await root.lstat(name);
    if (entry === null) return NOT_FOUND;
    if (entry.isSymbolicLink()) return unsafe(name);
    await removeTree(root, name, MAX_DEPTH);
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
  roots: Pick<PodLogAccess, 'containerLogsDir' | 'openDirectory'>,
): Promise<Attempt> {
  if (!isOneSegment(name) || !name.endsWith('.log')) return unsafe(name);
  const needed = neededBy(name, containers);
  if (needed) return refused(needed);
  return inDirectory(roots, roots.containerLogsDir, async (root) => {
    const entry = await root.lstat(name);
    if (entry === null) return NOT_FOUND;
    if (!entry.isSymbolicLink()) return unsafe(name);
    if ((await root.stat(name)) !== null) return refused(TARGET_EXISTS);
    await root.unlink(name);
    return REMOVED;
  });
}

/** Whether an entry of a log directory is not there; `null` when that cannot be seen. */
export async function isPodLogEntryGone(
  kind: 'pod-log-directory' | 'log-symlink',
  name: string,
  { podLogsDir, containerLogsDir, openDirectory }: PodLogAccess,
): Promise<boolean | null> {
  const directory = { 'pod-log-directory': podLogsDir, 'log-symlink': containerLogsDir }[kind];
  try {
    await using root = await unlessMissing(openDirectory(directory), null);
    return isOneSegment(name) && (root === null || (await root.lstat(name)) === null);
  } catch {
    return null;
  }
}

function neededBy(name: string, containers: CompleteListing['containers']): Refusal | undefined {
  const id = containerIdOfSymlink(name);
  const meant = id === null ? [] : containersOfSymlinks(containers)(id);
  const container = meant.find(({ state }) => state !== 'exited');
  if (container === undefined) return undefined;
  const reason = container.state === 'running' ? 'running' : 'in-use';
  return { reason, message: `the container ${container.id} is ${container.state} and may write its log yet` };
}

const TARGET_EXISTS: Refusal = { reason: 'target-exists', message: 'the log that it leads to is there' };

const unsafe = (name: string): Attempt =>
  refused({ reason: 'unsafe-log-path', message: `${name} is not what is to be removed there` });

const isOneSegment = (name: string): boolean => !['', '.', '..'].includes(name) && !/[/\0]/.test(name);

async function inDirectory(
  { openDirectory }: Pick<PodLogAccess, 'openDirectory'>,
  directory: string,
  action: (root: OpenDirectory) => Promise<Attempt>,
): Promise<Attempt> {
  try {
    await using root = await openDirectory(directory);
    return await action(root);
  } catch (error) {
    return failed('log-removal-failed', error);
  }
}

/** Removes the entry with at most `depth` directories in each other. */
async function removeTree(directory: OpenDirectory, name: string, depth: number): Promise<void> {
  if (!(await emptied(directory, name, depth))) return directory.unlink(name);
  await directory.rmdir(name);
}

/** Whether it was a directory, which is empty now. */
async function emptied(parent: OpenDirectory, name: string, depth: number): Promise<boolean> {
  await using directory = await parent.open(name);
  if (directory === null) return false;
  if (depth === 0) throw new Error(`${directory.path} is deeper than logs lie`);
  for (const below of await directory.names()) await removeTree(directory, below, depth - 1);
  return true;
}
