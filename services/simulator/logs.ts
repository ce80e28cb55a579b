import { mkdir, open, readdir, rm, stat, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { SimulatedContainer } from './objects.ts';

/** Where a node's logs are. */
export interface LogDirectories {
  readonly podLogsDir: string;
  readonly containerLogsDir: string;
}

/** A log of the given size: real as a file, but holes instead of blocks. */
export async function writeLog(path: string, sizeBytes: bigint): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const file = await open(path, 'a');
  try {
    await file.truncate(Number(sizeBytes));
  } finally {
    await file.close();
  }
}

/** `<pod>_<namespace>_<container>-<id>.log`, the part before `.log` cut to 251 characters (G22). */
export async function linkLog(
  { containerLogsDir }: LogDirectories,
  container: SimulatedContainer,
): Promise<void> {
  const { labels, id, logFile } = container;
  const pod = `${labels['io.kubernetes.pod.name']}_${labels['io.kubernetes.pod.namespace']}`;
  const name = `${pod}_${labels['io.kubernetes.container.name']}-${id}`;
  await mkdir(containerLogsDir, { recursive: true });
  const link = join(containerLogsDir, `${name.slice(0, 251)}.log`);
  await rm(link, { force: true });
  await symlink(logFile, link);
}

/** Bytes that all files under `directory` say they have. */
export async function logBytes(directory: string): Promise<bigint> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => []);
  const sizes = await Promise.all(
    entries.filter((entry) => entry.isFile()).map((entry) => logFileSize(join(entry.parentPath, entry.name))),
  );
  return BigInt(sizes.reduce((total, size) => total + size, 0));
}

/** Zero for a file that is not there: executors remove logs while we look. */
export const logFileSize = (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    () => 0,
  );
