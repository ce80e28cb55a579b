import { constants, readFileSync, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, readdir, rmdir, stat, unlink } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, normalize, relative } from 'node:path';
import type { ListedContainer } from '../../../packages/cri/listing-types.ts';
import type { PodLogRoots } from '../../../packages/machine/pod-log-roots.ts';

/** Where logs lie, and how a directory of them is opened. */
export interface PodLogAccess extends PodLogRoots {
  /** Opens the directory that `path` leads to, over links too. Rejects where there is none. */
  openDirectory(path: string): Promise<OpenDirectory>;
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

/** Whether the name is that of an entry and leads nowhere else. */
export const isOneSegment = (name: string): boolean => !['', '.', '..'].includes(name) && !/[/\0]/.test(name);

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

/**
 * A directory that is open: whoever renames or replaces it meanwhile does not change where the entries named below it
 * lie. Names are single segments. What is missing is no error, since somebody else may remove the same; other errors
 * name the path as it was asked for.
 */
export interface OpenDirectory extends AsyncDisposable {
  readonly path: string;
  names(): Promise<readonly string[]>;
  /** `null` where nothing is. */
  lstat(name: string): Promise<Pick<Stats, 'isSymbolicLink'> | null>;
  /** Of what a link leads to; `null` where that is nothing. */
  stat(name: string): Promise<object | null>;
  unlink(name: string): Promise<void>;
  rmdir(name: string): Promise<void>;
  /**
   * A directory in it; `null` for anything else, a link to a directory included, and for nothing. Rejects where something
   * is mounted.
   */
  open(name: string): Promise<OpenDirectory | null>;
}

const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY;

/** Opens the directory that `path` leads to, over links too. Rejects where there is none. */
export const openDirectory = async (path: string): Promise<OpenDirectory> =>
  directoryOf(await open(path, DIRECTORY), path);

function directoryOf(handle: FileHandle, path: string): OpenDirectory {
  const reported = async <T>(operation: (at: string) => Promise<T>): Promise<T> => {
    // Its number can be another file's by now.
    if (handle.fd < 0) throw new Error(`${path} is not open any more`);
    const at = `/proc/self/fd/${handle.fd}`;
    try {
      return await operation(at);
    } catch (error) {
      throw inWordsOf(error, at, path);
    }
  };
  return {
    path,
    names: () => reported((at) => readdir(at)),
    lstat: (name) => reported((at) => unlessMissing(lstat(`${at}/${name}`), null)),
    stat: (name) => reported((at) => unlessMissing(stat(`${at}/${name}`), null)),
    unlink: (name) => reported((at) => unlessMissing(unlink(`${at}/${name}`), undefined)),
    rmdir: (name) => reported((at) => unlessMissing(rmdir(`${at}/${name}`), undefined)),
    open: async (name) => {
      const below = await reported((at) => openAsItself(`${at}/${name}`));
      if (below === null) return null;
      const inside = join(path, name);
      await closedOnError(below, onSameMount(handle, below, inside));
      return directoryOf(below, inside);
    },
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

async function onSameMount(parent: FileHandle, below: FileHandle, path: string): Promise<void> {
  if ((await mountOf(below)) !== (await mountOf(parent))) throw new Error(`something is mounted at ${path}`);
}

/**
 * The mount by its id, since a directory of the same filesystem can be mounted in another place; and the filesystem, since
 * some have parts of their own without a mount.
 */
async function mountOf(handle: FileHandle): Promise<string> {
  const { dev } = await handle.stat();
  // No disk is asked for it.
  const descriptor = readFileSync(`/proc/self/fdinfo/${handle.fd}`, 'utf8');
  const [, id] = /^mnt_id:\s*(\d+)$/m.exec(descriptor) ?? [];
  if (id === undefined) throw new Error('/proc/self/fdinfo does not tell on which mount a directory lies');
  return `${id} ${dev}`;
}

async function closedOnError<T>(handle: FileHandle, result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function openAsItself(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, DIRECTORY | constants.O_NOFOLLOW);
  } catch (error) {
    if (['ENOTDIR', 'ELOOP', 'ENOENT'].includes(errnoOf(error))) return null;
    throw error;
  }
}

/** Nobody knows a directory by the number of its descriptor. */
function inWordsOf(error: unknown, at: string, path: string): unknown {
  if (!(error instanceof Error)) return error;
  return new Error(
    error.message.replace(at, () => path),
    { cause: error },
  );
}

/** The system's code of an error, e.g. `ENOENT`; empty when it has none. */
const errnoOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : '';

/** `otherwise` where what was asked for is not there; any other error is passed on. */
async function unlessMissing<T, U>(result: Promise<T>, otherwise: U): Promise<T | U> {
  try {
    return await result;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return otherwise;
    throw error;
  }
}
