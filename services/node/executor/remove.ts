import type { ListedContainer, ListedSandbox } from '../../../packages/cri/listing-types.ts';
import type {
  RuntimeContainerStatus,
  RuntimeImage,
  RuntimeReader,
  RuntimeRemover,
} from '../../../packages/cri/port.ts';
import type { Sleep } from '../../../packages/process/backoff.ts';
import { type FleetGcError, toFleetGcError } from '../../../packages/process/errors.ts';
import type { ObjectKind } from '../../../schemas/events/object-kinds.ts';
import type { AlreadyDone, RemovalFailure } from '../../../schemas/events/result.ts';
import { type FreshFacts, factsAlone } from './command.ts';
import type { PodLogAccess } from './executor.ts';
import type { RuntimeFacts } from './facts.ts';
import { type CommandItem, isPodLogEntry, type JudgeTools } from './judge.ts';
import { type FoundLogFiles, findLogFiles, isPodLogEntryGone, removeLogFiles } from './pod-logs.ts';
import type { Refusal } from './reports.ts';

/** What came of trying to remove one object. */
export type Attempt =
  | { readonly outcome: 'removed' }
  /** Somebody else was first, which is success (M31). */
  | ({ readonly outcome: 'not-found' } & HalfDone)
  /** The last check before the removal said no. */
  | ({ readonly outcome: 'refused' } & Refusal & HalfDone)
  | ({ readonly outcome: 'failed'; readonly reason: RemovalFailure; readonly message: string } & HalfDone);

interface HalfDone {
  readonly alreadyDone?: AlreadyDone[];
}

export const REMOVED: Attempt = { outcome: 'removed' };
export const NOT_FOUND: Attempt = { outcome: 'not-found' };

export const failed = (reason: RemovalFailure, error: unknown): Attempt => ({
  outcome: 'failed',
  reason,
  message: toFleetGcError(error).message,
});

export const refused = (refusal: Refusal): Attempt => ({ outcome: 'refused', ...refusal });

/** Tells of an object that we did not remove what we did to it before; of a stop only where it stays. */
export function after(step: AlreadyDone, attempt: Attempt): Attempt {
  if (attempt.outcome === 'removed') return attempt;
  if (attempt.outcome === 'not-found' && step === 'stopped') return attempt;
  return { ...attempt, alreadyDone: [step, ...(attempt.alreadyDone ?? [])] };
}

export const isNotFound = (error: unknown): boolean => codeOf(error) === 'RUNTIME_NOT_FOUND';

const codeOf = (error: unknown): FleetGcError['code'] => toFleetGcError(error).code;

/**
 * Runs one removing call: gone already is success, no answer in time is a failure of its own. That the runtime has an image in
 * use of which CRI lists no user is none: the runtime did right.
 */
export async function attempt(call: () => Promise<void>): Promise<Attempt> {
  try {
    await call();
    return REMOVED;
  } catch (error) {
    if (isNotFound(error)) return NOT_FOUND;
    if (codeOf(error) === 'RUNTIME_IMAGE_IN_USE')
      return refused({ reason: 'in-use-outside-cri', message: toFleetGcError(error).message });
    return failed(codeOf(error) === 'RUNTIME_TIMEOUT' ? 'deadline-exceeded' : 'runtime-error', error);
  }
}

/**
 * A removal that failed can have happened all the same, or halfway; one that was refused can have begun; and who removed
 * what the runtime was asked for and has not any more, nobody knows.
 */
export function mayHaveActed(attempt: Attempt, isAsked: boolean): boolean {
  switch (attempt.outcome) {
    case 'removed':
    case 'failed':
      return true;
    case 'not-found':
      return isAsked;
    case 'refused':
      return attempt.alreadyDone !== undefined;
  }
}

/** A runtime may answer a moment before its list shows it. */
const LISTED_AGAIN_AFTER_MS = 200;

interface ImageRemover {
  readonly runtime: Pick<RuntimeReader, 'listImages'> & Pick<RuntimeRemover, 'removeImage'>;
  readonly sleep: Sleep;
}

/** An image counts as removed only when a fresh listing lacks it, and then also when the call failed or took too long. */
export async function removeImage({ id }: RuntimeImage, { runtime, sleep }: ImageRemover): Promise<Attempt> {
  const called = await attempt(() => runtime.removeImage(id));
  if (called.outcome === 'not-found') return called;
  try {
    if (!(await isListed(id, runtime))) return REMOVED;
    if (called.outcome !== 'removed') return called;
    await sleep(LISTED_AGAIN_AFTER_MS);
    return (await isListed(id, runtime)) ? STILL_LISTED : REMOVED;
  } catch (error) {
    return called.outcome === 'removed' ? failed('runtime-error', error) : called;
  }
}

const STILL_LISTED: Attempt = {
  outcome: 'failed',
  reason: 'still-listed',
  message: 'the runtime reported the image as removed and lists it still',
};

const isListed = async (id: string, { listImages }: Pick<RuntimeReader, 'listImages'>): Promise<boolean> =>
  (await listImages()).some((image) => image.id === id);

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

interface SandboxRemover {
  readonly runtime: Pick<RuntimeRemover, 'stopSandbox' | 'removeSandbox'>;
  readonly fresh: FreshFacts;
}

/** Stops, and removes only what was stopped (H6, K9). */
export async function removeSandbox({ id }: ListedSandbox, remover: SandboxRemover): Promise<Attempt> {
  const { runtime, fresh } = remover;
  const before = await fresh.confirm(factsAlone);
  if ('outcome' in before) return before;
  try {
    await runtime.stopSandbox(id);
  } catch (error) {
    if (!isNotFound(error)) return failed('stop-failed', error);
    fresh.outdate();
    return removeStopped(id, remover);
  }
  fresh.outdate();
  return after('stopped', await removeStopped(id, remover));
}

async function removeStopped(id: string, { runtime, fresh }: SandboxRemover): Promise<Attempt> {
  const facts = await fresh.confirm(factsAlone);
  return 'outcome' in facts ? facts : attempt(() => runtime.removeSandbox(id));
}

/** So often a failed removal is looked at, so long apart. */
const GONE_READINGS = 5;
const GONE_PAUSE_MS = 200;

type FactTools = Pick<JudgeTools, 'readFacts' | 'podLogs'>;

/** Whether an object is gone; `null` when that cannot be seen. */
export async function isGone(item: CommandItem, { readFacts, podLogs }: FactTools): Promise<boolean | null> {
  if (isPodLogEntry(item)) return isPodLogEntryGone(item.kind, item.id, podLogs);
  const reading = await readFacts();
  if (!reading.ok) return null;
  const { images, containers, sandboxes } = reading.facts.listing;
  const listed = { image: images, container: containers, sandbox: sandboxes }[item.kind];
  return !listed.some(({ id }) => id === item.id);
}

/**
 * A runtime answers with an error while another of its clients, the kubelet say, is removing the same container or
 * sandbox: what is gone a moment later has not failed (M31).
 */
export async function unlessGoneSoon(
  attempt: Attempt,
  item: CommandItem,
  tools: FactTools & { readonly sleep: Sleep },
  signal: AbortSignal,
): Promise<Attempt> {
  const whenGone = successWhenGone(attempt, item);
  if (whenGone === null) return attempt;
  for (let count = 1; count <= GONE_READINGS && !signal.aborted; count++) {
    if (await isGone(item, tools)) return whenGone;
    await tools.sleep(GONE_PAUSE_MS, signal);
  }
  return attempt;
}

/** Images are listed again by their own removal, and log entries are nobody else's. */
const MAY_GO_BY_OTHERS: Readonly<Record<ObjectKind, boolean>> = {
  container: true,
  sandbox: true,
  'pod-log-directory': false,
  'log-symlink': false,
  image: false,
};

/** What a failed removal was, should the object be gone a moment later. */
function successWhenGone(attempt: Attempt, { kind }: CommandItem): Attempt | null {
  if (attempt.outcome !== 'failed' || !MAY_GO_BY_OTHERS[kind]) return null;
  const { reason, alreadyDone } = attempt;
  switch (reason) {
    case 'deadline-exceeded':
      return REMOVED;
    case 'runtime-error':
    case 'stop-failed':
      return { outcome: 'not-found', ...(alreadyDone && { alreadyDone }) };
    case 'still-listed':
    case 'log-removal-failed':
      return null;
  }
}
