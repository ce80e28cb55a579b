import type { ListedContainer } from '../../../../packages/cri/listing-types.ts';
import type { RuntimeContainerStatus, RuntimeReader, RuntimeRemover } from '../../../../packages/cri/port.ts';
import { toFleetGcError } from '../../../../packages/process/errors.ts';
import type { FreshFacts } from '../checks/fresh-facts.ts';
import type { RuntimeFacts } from '../checks/runtime-facts.ts';
import type { PodLogAccess } from '../node-files.ts';
import { type FoundLogFiles, findLogFiles, removeLogFiles } from './container-log-files.ts';
import { type Attempt, after, attempt, failed, isNotFound, NOT_FOUND, refused } from './removal-attempt.ts';

/** The kubelet's least grace period (G15). */
const MIN_STOP_SECONDS = 2;
/** Longer than this no worker waits for a container that nobody knows to run. */
const MAX_STOP_SECONDS = 600;

interface ContainerRemover {
  readonly runtime: Pick<RuntimeReader, 'containerStatus'> &
    Pick<RuntimeRemover, 'stopContainer' | 'removeContainer'>;
  readonly podLogs: PodLogAccess;
  readonly fresh: FreshFacts;
}

/**
 * Removes one container in the kubelet's order: stop when its state is unknown (G15), log files, flat symlink, and then
 * the container (G19, K10). Any failure ends it and the container stays. All that can be judged is judged before the
 * stop, and again after it. The status is also asked just before the logs and just before the container, since the
 * runtime would kill what has been started meanwhile (K4, K6).
 */
export async function removeContainer(
  container: ListedContainer,
  remover: ContainerRemover,
): Promise<Attempt> {
  const { runtime, fresh } = remover;
  const look = ({ listing }: RuntimeFacts) => lookAt(container, listing.containers, remover);
  const found = await fresh.confirm(look);
  if ('outcome' in found) return found;
  if (found.status.state !== 'unknown') return removeFound(found, remover);
  const notStopped = await stop(runtime, found.status);
  if (notStopped) return notStopped;
  fresh.outdate();
  const stopped = await fresh.confirm(look);
  return after('stopped', 'outcome' in stopped ? stopped : await removeFound(stopped, remover));
}

interface Found {
  readonly status: RuntimeContainerStatus;
  readonly logFiles: FoundLogFiles;
}

/** What would go with the container, or why it stays. */
async function lookAt(
  container: ListedContainer,
  listed: readonly ListedContainer[],
  { runtime, podLogs }: ContainerRemover,
): Promise<Found | Attempt> {
  const first = await ask(runtime, container.id, unavailable);
  if ('outcome' in first) return first;
  try {
    const logFiles = await findLogFiles({ ...container, logPath: first.logPath }, listed, podLogs);
    if (!logFiles.safe) return refused({ reason: 'unsafe-log-path', message: logFiles.problem });
    const status = await ask(runtime, container.id, unavailable);
    return 'outcome' in status ? status : { status, logFiles: logFiles.found };
  } catch (error) {
    return failed('log-removal-failed', error);
  }
}

async function removeFound(
  { status: { id }, logFiles }: Found,
  { runtime, podLogs, fresh }: ContainerRemover,
): Promise<Attempt> {
  try {
    await removeLogFiles(logFiles, podLogs);
  } catch (error) {
    return failed('log-removal-failed', error);
  }
  const last = await fresh.confirm(() => ask(runtime, id, (error) => failed('runtime-error', error)));
  const attempted = 'outcome' in last ? last : await attempt(() => runtime.removeContainer(id));
  const hadLogs = logFiles.files.length > 0 || logFiles.symlink !== null;
  return hadLogs ? after('logs-removed', attempted) : attempted;
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
