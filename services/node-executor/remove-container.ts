import type { ListedContainer } from '../shared/cri/listing-types.ts';
import type { RuntimeContainerStatus, RuntimeReader, RuntimeRemover } from '../shared/cri/port.ts';
import { toFleetGcError } from '../shared/errors.ts';
import { type Attempt, attempt, failed, isNotFound, NOT_FOUND, refused } from './attempt.ts';
import { findLogFiles, removeLogFiles } from './log-files.ts';
import type { LogDirectories } from './log-path.ts';

/** The kubelet's least grace period (G15). */
const MIN_STOP_SECONDS = 2;
/** Longer than this no worker waits for a container that nobody knows to run. */
const MAX_STOP_SECONDS = 600;

export interface ContainerRemover {
  readonly runtime: Pick<RuntimeReader, 'containerStatus'> &
    Pick<RuntimeRemover, 'stopContainer' | 'removeContainer'>;
  readonly directories: LogDirectories;
}

/**
 * Removes one container in the kubelet's order: stop when its state is unknown (G15), log files, flat symlink, and then
 * the container (G19, K10). Any failure ends it and the container stays. Its status is asked at the start and just
 * before the end, since the runtime would kill what has been started meanwhile (K4, K6).
 */
export async function removeContainer(
  container: ListedContainer,
  listed: readonly ListedContainer[],
  { runtime, directories }: ContainerRemover,
): Promise<Attempt> {
  const { id } = container;
  const status = await ask(runtime, id, unavailable);
  if ('outcome' in status) return status;
  try {
    const logs = await findLogFiles({ ...container, logPath: status.logPath }, listed, directories);
    if (!logs.safe) return refused({ reason: 'unsafe-log-path', message: logs.problem });
    const stopped = status.state === 'unknown' ? await stop(runtime, status) : undefined;
    if (stopped) return stopped;
    await removeLogFiles(logs.paths);
  } catch (error) {
    return failed('log-removal-failed', error);
  }
  const last = await ask(runtime, id, (error) => failed('runtime-error', error));
  return 'outcome' in last ? last : attempt(() => runtime.removeContainer(id));
}

/** The status, or why the container is left alone. */
async function ask(
  { containerStatus }: Pick<RuntimeReader, 'containerStatus'>,
  id: string,
  onError: (error: unknown) => Attempt,
): Promise<RuntimeContainerStatus | Attempt> {
  try {
    const status = await containerStatus(id);
    return status.state === 'running' ? RUNNING : status;
  } catch (error) {
    return isNotFound(error) ? NOT_FOUND : onError(error);
  }
}

const unavailable = (error: unknown): Attempt =>
  refused({ reason: 'runtime-unavailable', message: toFleetGcError(error).message });

const RUNNING = refused({ reason: 'running', message: 'the container runs by now' });

/** A container that is not there any more needs no stop (G15). */
async function stop(
  { stopContainer }: Pick<RuntimeRemover, 'stopContainer'>,
  { id, annotations }: RuntimeContainerStatus,
): Promise<Attempt | undefined> {
  try {
    await stopContainer(id, stopSeconds(annotations));
    return undefined;
  } catch (error) {
    return isNotFound(error) ? undefined : failed('stop-failed', error);
  }
}

/** The grace period that the kubelet wrote on the container. */
function stopSeconds(annotations: Readonly<Record<string, string>>): number {
  const written =
    annotations['io.kubernetes.pod.deletionGracePeriod'] ??
    annotations['io.kubernetes.pod.terminationGracePeriod'] ??
    '';
  const seconds = /^[0-9]{1,9}$/.test(written) ? Number(written) : MIN_STOP_SECONDS;
  return Math.min(Math.max(seconds, MIN_STOP_SECONDS), MAX_STOP_SECONDS);
}
