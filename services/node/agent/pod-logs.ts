import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import pMap from 'p-map';
import type { z } from 'zod';
import type { ListedContainer } from '../../../packages/cri/listing-types.ts';
import type { PodLogRoots } from '../../../packages/machine/pod-log-roots.ts';
import type { Backoff } from '../../../schemas/events/object-kinds.ts';
import {
  containerIdOfSymlink,
  containersOfSymlinks,
  type InventoryLogSymlink,
  type InventoryPodLogDirectory,
  podUidOfLogDirectory,
} from '../../../schemas/events/pod-log-entries.ts';

/** What lies in the two log directories (A10). A directory that could not be read is `null`: nothing of it goes. */
export interface PodLogEntries {
  /** All names, sorted. */
  readonly podLogDirectories: readonly string[] | null;
  /** Names of the `*.log` whose target does not exist, sorted. */
  readonly danglingSymlinks: readonly string[] | null;
}

/** Never rejects. */
export type PodLogReader = () => Promise<PodLogEntries>;

/** More entries than this are left for later scans: what goes makes room for them. */
const MAX_POD_LOG_ENTRIES = 5_000;
const STAT_CONCURRENCY = 8;

export const podLogReader =
  ({ podLogsDir, containerLogsDir }: PodLogRoots): PodLogReader =>
  async () => ({
    podLogDirectories: await namesIn(podLogsDir),
    danglingSymlinks: await danglingIn(containerLogsDir),
  });

async function danglingIn(directory: string): Promise<readonly string[] | null> {
  const names = await namesIn(directory);
  if (names === null) return null;
  const podLogs = names.filter((name) => name.endsWith('.log'));
  const dangling = await pMap(podLogs, (name) => hasNoTarget(join(directory, name)), {
    concurrency: STAT_CONCURRENCY,
  });
  return podLogs.filter((_, index) => dangling[index]);
}

async function namesIn(directory: string): Promise<readonly string[] | null> {
  try {
    return (await readdir(directory)).toSorted().slice(0, MAX_POD_LOG_ENTRIES);
  } catch {
    return null;
  }
}

/** Only "not found" says so: any other error leaves the link alone (I4). */
async function hasNoTarget(path: string): Promise<boolean> {
  try {
    await stat(path);
    return false;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ENOENT';
  }
}

type BackoffOf = (kind: 'pod-log-directory' | 'log-symlink', id: string) => z.infer<typeof Backoff> | null;

export const inventoryPodLogDirectory = (name: string, backoffOf: BackoffOf): InventoryPodLogDirectory => ({
  name,
  podUid: podUidOfLogDirectory(name),
  backoff: backoffOf('pod-log-directory', name),
});

export function inventoryLogSymlinks(
  names: readonly string[],
  containers: readonly ListedContainer[],
  backoffOf: BackoffOf,
): InventoryLogSymlink[] {
  const meantBy = containersOfSymlinks(containers);
  return names.map((name) => ({
    name,
    container: symlinkContainer(name, meantBy),
    backoff: backoffOf('log-symlink', name),
  }));
}

/** The listing is complete, so a container that is not in it is one that the runtime does not know (I6). */
function symlinkContainer(
  name: string,
  meantBy: (id: string) => readonly ListedContainer[],
): InventoryLogSymlink['container'] {
  const id = containerIdOfSymlink(name);
  if (id === null) return 'unreadable';
  const [container, ...others] = meantBy(id);
  if (container === undefined) return 'no-answer';
  if (others.length > 0) return 'unknown';
  return container.state === 'exited' ? 'exited' : 'not-exited';
}
