import { isAbsolute, normalize } from 'node:path';
import type { ListedContainer } from '../../../packages/cri/listing-types.ts';
import type { LogDirectories } from '../../../packages/machine/log-directories.ts';

/** A flat symlink's name without `.log` has at most so many characters (G22). */
const SYMLINK_NAME_LENGTH = 251;
const GLOB = /[*?[\]{}\\]/;

/**
 * Why nothing may be removed by this log path, in words; `undefined` when it is safe (G20). The kubelet would expand
 * it as a pattern, in its working directory when it is empty.
 */
export function unsafeLogPath(
  logPath: string,
  { podLogsDir }: Pick<LogDirectories, 'podLogsDir'>,
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
  { podLogsDir }: Pick<LogDirectories, 'podLogsDir'>,
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
