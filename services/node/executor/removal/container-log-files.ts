import { basename, dirname, isAbsolute, join, normalize, relative } from 'node:path';
import type { ListedContainer } from '../../../../packages/cri/listing-types.ts';
import type { PodLogRoots } from '../../../../packages/machine/pod-log-roots.ts';
import type { PodLogAccess } from '../node-files.ts';
import { type OpenDirectory, unlessMissing } from './open-directory.ts';

/** What goes with a container, by names: the directories are opened once more when it goes. */
export interface FoundLogFiles {
  /** From the directory of pod logs down to the files. */
  readonly directories: readonly string[];
  readonly files: readonly string[];
  /** In the directory of container logs; `null` where there is none. */
  readonly symlink: string | null;
}

/** Found and judged first, removed after. */
type LogFiles =
  | { readonly safe: true; readonly found: FoundLogFiles }
  | { readonly safe: false; readonly problem: string };

/**
 * Finds everything that begins with the container's log path, rotated files included (G20), and its flat symlink (G22).
 * Files that belong to another listed container as well, with the same or a longer log path, are not among them: they go
 * with the last of these containers.
 */
export async function findLogFiles(
  container: ListedContainer,
  others: readonly ListedContainer[],
  roots: PodLogAccess,
): Promise<LogFiles> {
  const { logPath } = container;
  const unsafe =
    unsafeLogPath(logPath, roots) ?? foreignLogPath(container, roots) ?? sharedLogPath(container, others);
  if (unsafe !== undefined) return { safe: false, problem: unsafe };
  const symlink = flatSymlink(container);
  if (symlink === null) return { safe: false, problem: "the names in the container's labels hold a slash" };
  const directories = relative(roots.podLogsDir, dirname(logPath)).split('/');
  const names = await inside(roots, directories, (directory) => directory.names());
  if ('problem' in names) return { safe: false, problem: `the log path ${logPath} ${names.problem}` };
  const files = (names.done ?? []).filter((name) => isOwn(name, container, others));
  const isThere = await inFlat(roots, (directory) => isLink(directory, symlink));
  return { safe: true, found: { directories, files, symlink: isThere ? symlink : null } };
}

/**
 * Files first, then the symlink (G19). What is gone is no error; anything else ends it, also a directory that has become
 * a link since.
 */
export async function removeLogFiles(
  { directories, files, symlink }: FoundLogFiles,
  roots: PodLogAccess,
): Promise<void> {
  const removed = await inside(roots, directories, async (directory) => {
    for (const name of files) await directory.unlink(name);
  });
  if ('problem' in removed) throw new Error(`the path of the logs ${removed.problem}`);
  if (symlink === null) return;
  await inFlat(roots, async (directory) => {
    if (await isLink(directory, symlink)) await directory.unlink(symlink);
  });
}

function sharedLogPath(
  { id, logPath }: ListedContainer,
  others: readonly ListedContainer[],
): string | undefined {
  const other = others.find((one) => one.id !== id && one.state === 'running' && one.logPath === logPath);
  return other && `the running container ${other.id} writes to the same log path ${logPath}`;
}

function isOwn(name: string, { id, logPath }: ListedContainer, others: readonly ListedContainer[]): boolean {
  const path = join(dirname(logPath), name);
  const isOfOther = (other: ListedContainer): boolean =>
    other.id !== id && other.logPath.startsWith(logPath) && path.startsWith(other.logPath);
  return name.startsWith(basename(logPath)) && !others.some(isOfOther);
}

/** `null`: a directory on the way is not there. The problem goes on after the name of a path. */
type Inside<T> = { readonly done: T | null } | { readonly problem: string };

/**
 * Works in a directory below that of pod logs, which may itself be a link. All others must be what they are called: a link
 * could lead anywhere.
 */
async function inside<T>(
  { podLogsDir, openDirectory }: PodLogAccess,
  directories: readonly string[],
  work: (directory: OpenDirectory) => Promise<T>,
): Promise<Inside<T>> {
  await using root = await unlessMissing(openDirectory(podLogsDir), null);
  if (root === null) return { problem: `lies in ${podLogsDir}, which is not there` };
  return await below(root, directories, work);
}

async function below<T>(
  parent: OpenDirectory,
  [name, ...rest]: readonly string[],
  work: (directory: OpenDirectory) => Promise<T>,
): Promise<Inside<T>> {
  if (name === undefined) return { done: await work(parent) };
  await using directory = await parent.open(name);
  if (directory !== null) return await below(directory, rest, work);
  const entry = await parent.lstat(name);
  if (entry === null) return { done: null };
  return {
    problem: `leads over ${join(parent.path, name)}, which is ${entry.isSymbolicLink() ? 'a symlink' : 'no directory'}`,
  };
}

/** Works in the directory of flat symlinks; `null` where that is not there. */
async function inFlat<T>(
  { containerLogsDir, openDirectory }: PodLogAccess,
  work: (directory: OpenDirectory) => Promise<T>,
): Promise<T | null> {
  await using directory = await unlessMissing(openDirectory(containerLogsDir), null);
  return directory && (await work(directory));
}

const isLink = async (directory: OpenDirectory, name: string): Promise<boolean> =>
  (await directory.lstat(name))?.isSymbolicLink() ?? false;

/** A flat symlink's name without `.log` has at most so many characters (G22). */
const SYMLINK_NAME_LENGTH = 251;
const GLOB = /[*?[\]{}\\]/;

/**
 * Why nothing may be removed by this log path, in words; `undefined` when it is safe (G20). The kubelet would expand
 * it as a pattern, in its working directory when it is empty.
 */
export function unsafeLogPath(
  logPath: string,
  { podLogsDir }: Pick<PodLogRoots, 'podLogsDir'>,
): string | undefined {
  if (logPath === '') return 'the runtime names no log path';
  if (GLOB.test(logPath)) return `the log path ${logPath} holds characters of a pattern`;
  if (logPath.includes('\0') || !isAbsolute(logPath) || normalize(logPath) !== logPath) {
    return `the log path ${logPath} is not absolute and plain`;
  }
  const [pod, ...below] = logPath.startsWith(`${podLogsDir}/`)
    ? logPath.slice(podLogsDir.length + 1).split('/')
    : [];
  return pod && below.length > 0 && below.at(-1) !== ''
    ? undefined
    : `the log path ${logPath} is not inside a pod's directory of ${podLogsDir}`;
}

/**
 * Why a log path that is safe in itself is not this container's: it lies in the directory of another pod. The kubelet
 * calls a pod's directory by its namespace, name and UID, and long ago by the UID alone (I2).
 */
export function foreignLogPath(
  { logPath, labels }: Pick<ListedContainer, 'logPath' | 'labels'>,
  { podLogsDir }: Pick<PodLogRoots, 'podLogsDir'>,
): string | undefined {
  const [namespace, name, uid] = ['namespace', 'name', 'uid'].map(
    (key) => labels[`io.kubernetes.pod.${key}`],
  );
  if (!namespace || !name || !uid)
    return `the container of the log path ${logPath} does not say of which pod it is`;
  const own = `${namespace}_${name}_${uid}`;
  const [directory] = logPath.slice(podLogsDir.length + 1).split('/');
  if (directory === own || directory === uid) return undefined;
  return `the log path ${logPath} is not in the directory ${own} of its pod`;
}

/** The name of a container's flat symlink (G22), or `null` where it could lead out of the directory. */
export function flatSymlink({
  id,
  name,
  labels,
}: Pick<ListedContainer, 'id' | 'name' | 'labels'>): string | null {
  const podName = labels['io.kubernetes.pod.name'] ?? '';
  const podNamespace = labels['io.kubernetes.pod.namespace'] ?? '';
  const file = `${podName}_${podNamespace}_${name}-${id}`;
  if (/[/\0]/.test(file)) return null;
  return `${file.slice(0, SYMLINK_NAME_LENGTH)}.log`;
}
