import { type Dirent, readdirSync, statSync } from 'node:fs';
import { mkdir, open, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { SimulatedContainer } from './objects.ts';

/** Where a node's logs are. */
export interface PodLogRoots {
  readonly podLogsDir: string;
  readonly containerLogsDir: string;
}

/** A log of the given size: real as a file, but holes instead of blocks. */
export async function writeContainerLog(path: string, sizeBytes: bigint): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const file = await open(path, 'a');
  try {
    await file.truncate(Number(sizeBytes));
  } finally {
    await file.close();
  }
}

/** `<pod>_<namespace>_<container>-<id>.log`, the part before `.log` cut to 251 characters (G22). */
function linkPath({ containerLogsDir }: PodLogRoots, { labels, id }: SimulatedContainer): string {
  const pod = `${labels['io.kubernetes.pod.name']}_${labels['io.kubernetes.pod.namespace']}`;
  const name = `${pod}_${labels['io.kubernetes.container.name']}-${id}`;
  return join(containerLogsDir, `${name.slice(0, 251)}.log`);
}

export async function linkContainerLog(podLogs: PodLogRoots, container: SimulatedContainer): Promise<void> {
  await mkdir(podLogs.containerLogsDir, { recursive: true });
  await unlinkContainerLog(podLogs, container);
  await symlink(container.logFile, linkPath(podLogs, container));
}

export const unlinkContainerLog = (podLogs: PodLogRoots, container: SimulatedContainer): Promise<void> =>
  rm(linkPath(podLogs, container), { force: true });

/**
 * Bytes that all files under `directory` say they have. Synchronous: the trees are small, and this is asked once a second
 * of the node's time, of which tests let hours pass.
 */
export function logBytes(directory: string): bigint {
  return entriesOf(directory).reduce((total, entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return total + logBytes(path);
    return entry.isFile() ? total + sizeOf(path) : total;
  }, 0n);
}

/** Nothing for what is not there: executors remove logs while we look. */
function entriesOf(directory: string): readonly Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** Zero for a file that is not there. */
export const sizeOf = (path: string): bigint =>
  statSync(path, { bigint: true, throwIfNoEntry: false })?.size ?? 0n;
