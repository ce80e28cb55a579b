import type { CompleteListing, ListedContainer, ListedSandbox } from '../../../packages/cri/listing-types.ts';
import type {
  RuntimeContainerStatus,
  RuntimeImage,
  RuntimeReader,
  RuntimeRemover,
} from '../../../packages/cri/port.ts';
import type { Sleep } from '../../../packages/process/backoff.ts';
import { type FleetGcError, toFleetGcError } from '../../../packages/process/errors.ts';
import type { ObjectKind } from '../../../schemas/events/object-kinds.ts';
import {
  containerIdOfSymlink,
  containersOfSymlinks,
  podUidOfLogDirectory,
} from '../../../schemas/events/pod-log-entries.ts';
import type { AlreadyDone, RemovalFailure } from '../../../schemas/events/result.ts';
import { type CommandItem, isPodLogEntry, type Removable } from './checks.ts';
import type { ReadFacts, RuntimeFacts } from './facts.ts';
import { type FreshFacts, NOT_FOUND, refused, type Stays } from './judge.ts';
import {
  type FoundLogFiles,
  findLogFiles,
  isOneSegment,
  isPodLogEntryGone,
  type OpenDirectory,
  type PodLogAccess,
  removeLogFiles,
} from './pod-logs.ts';
import type { Refusal } from './reports.ts';

/** What came of trying to remove one object. `not-found`: somebody else was first, which is success (M31). */
export type Attempt =
  | { readonly outcome: 'removed' }
  | (Stays & HalfDone)
  | ({ readonly outcome: 'failed'; readonly reason: RemovalFailure; readonly message: string } & HalfDone);

interface HalfDone {
  readonly alreadyDone?: AlreadyDone[];
}

/** How often, and how far apart, an object is looked for after its removal failed. */
const GONE_READINGS = 5;
const GONE_PAUSE_MS = 200;
/** A runtime may answer a moment before its list shows it. */
const LISTED_AGAIN_AFTER_MS = 200;

/** Removes what may go, each kind by the call of its kind. No method rejects. */
export class Remover {
  readonly #runtime: RuntimeReader & RuntimeRemover;
  readonly #podLogs: PodLogAccess;
  readonly #readFacts: ReadFacts;
  readonly #sleep: Sleep;

  constructor(
    runtime: RuntimeReader & RuntimeRemover,
    podLogs: PodLogAccess,
    readFacts: ReadFacts,
    sleep: Sleep,
  ) {
    this.#runtime = runtime;
    this.#podLogs = podLogs;
    this.#readFacts = readFacts;
    this.#sleep = sleep;
  }

  /** Removes one object, which is judged again before each step where its facts grew old meanwhile. */
  async remove(object: Removable, fresh: FreshFacts): Promise<Attempt> {
    switch (object.kind) {
      case 'container':
        return this.#removeContainer(object.container, fresh);
      case 'sandbox':
        return this.#removeSandbox(object.sandbox, fresh);
      case 'image':
        return inOneStep(fresh, () => this.#removeImage(object.image));
      case 'pod-log-directory':
        return inOneStep(fresh, () => removePodLogDirectory(object, this.#podLogs));
      case 'log-symlink':
        return inOneStep(fresh, ({ listing }) => removeLogSymlink(object.name, listing, this.#podLogs));
    }
  }

  /** Whether an object is gone; `null` when that cannot be seen. */
  async isGone(item: CommandItem): Promise<boolean | null> {
    if (isPodLogEntry(item)) return isPodLogEntryGone(item.kind, item.id, this.#podLogs);
    const reading = await this.#readFacts();
    if (!reading.ok) return null;
    const { images, containers, sandboxes } = reading.facts.listing;
    const listed = { image: images, container: containers, sandbox: sandboxes }[item.kind];
    return !listed.some(({ id }) => id === item.id);
  }

  /**
   * A runtime answers with an error while another of its clients, the kubelet say, is removing the same container or
   * sandbox: what is gone a moment later has not failed (M31).
   */
  async unlessGoneSoon(attempt: Attempt, item: CommandItem, signal: AbortSignal): Promise<Attempt> {
    const whenGone = successWhenGone(attempt, item);
    if (whenGone === null) return attempt;
    for (let count = 1; count <= GONE_READINGS && !signal.aborted; count++) {
      if (await this.isGone(item)) return whenGone;
      await this.#sleep(GONE_PAUSE_MS, signal);
    }
    return attempt;
  }

  /** An image counts as removed only when a fresh listing lacks it, and then also when the call failed or took too long. */
  async #removeImage({ id }: RuntimeImage): Promise<Attempt> {
    const called = await attempt(() => this.#runtime.removeImage(id));
    if (called.outcome === 'not-found') return called;
    try {
      if (!(await this.#isListed(id))) return REMOVED;
      if (called.outcome !== 'removed') return called;
      await this.#sleep(LISTED_AGAIN_AFTER_MS);
      return (await this.#isListed(id)) ? STILL_LISTED : REMOVED;
    } catch (error) {
      return called.outcome === 'removed' ? failed('runtime-error', error) : called;
    }
  }

  async #isListed(id: string): Promise<boolean> {
    return (await this.#runtime.listImages()).some((image) => image.id === id);
  }

  /** Stops, and removes only what was stopped (H6, K9). */
  async #removeSandbox({ id }: ListedSandbox, fresh: FreshFacts): Promise<Attempt> {
    const before = await fresh.confirm(factsAlone);
    if ('outcome' in before) return before;
    let isStopped = true;
    try {
      await this.#runtime.stopSandbox(id);
    } catch (error) {
      if (!isNotFound(error)) return failed('stop-failed', error);
      isStopped = false;
    }
    fresh.outdate();
    const facts = await fresh.confirm(factsAlone);
    const last = 'outcome' in facts ? facts : await attempt(() => this.#runtime.removeSandbox(id));
    return isStopped ? after('stopped', last) : last;
  }

  /**
   * Removes one container in the kubelet's order: stop when its state is unknown (G15), log files, flat symlink, and then
   * the container (G19, K10). Any failure ends it and the container stays. All that can be judged is judged before the
   * stop, and again after it. The status is also asked just before the logs and just before the container, since the
   * runtime would kill what has been started meanwhile (K4, K6).
   */
  async #removeContainer(container: ListedContainer, fresh: FreshFacts): Promise<Attempt> {
    const look = ({ listing }: RuntimeFacts) => this.#lookAt(container, listing.containers);
    const found = await fresh.confirm(look);
    if ('outcome' in found) return found;
    if (found.status.state !== 'unknown') return this.#removeFound(found, fresh);
    const notStopped = await this.#stop(found.status);
    if (notStopped) return notStopped;
    fresh.outdate();
    const stopped = await fresh.confirm(look);
    return after('stopped', 'outcome' in stopped ? stopped : await this.#removeFound(stopped, fresh));
  }

  /** What would go with the container, or why it stays. */
  async #lookAt(container: ListedContainer, listed: readonly ListedContainer[]): Promise<Found | Attempt> {
    const first = await this.#ask(container.id, unavailable);
    if ('outcome' in first) return first;
    try {
      const logFiles = await findLogFiles({ ...container, logPath: first.logPath }, listed, this.#podLogs);
      if (!logFiles.safe) return refused({ reason: 'unsafe-log-path', message: logFiles.problem });
      const status = await this.#ask(container.id, unavailable);
      return 'outcome' in status ? status : { status, logFiles: logFiles.found };
    } catch (error) {
      return failed('log-removal-failed', error);
    }
  }

  async #removeFound({ status: { id }, logFiles }: Found, fresh: FreshFacts): Promise<Attempt> {
    try {
      await removeLogFiles(logFiles, this.#podLogs);
    } catch (error) {
      return failed('log-removal-failed', error);
    }
    const last = await fresh.confirm(() => this.#ask(id, (error) => failed('runtime-error', error)));
    const attempted = 'outcome' in last ? last : await attempt(() => this.#runtime.removeContainer(id));
    const hadLogs = logFiles.files.length > 0 || logFiles.symlink !== null;
    return hadLogs ? after('logs-removed', attempted) : attempted;
  }

  /** The status, or why the container is left alone. */
  async #ask(id: string, onError: (error: unknown) => Attempt): Promise<RuntimeContainerStatus | Attempt> {
    try {
      const status = await this.#runtime.containerStatus(id);
      return status.state === 'running' ? RUNNING : status;
    } catch (error) {
      return isNotFound(error) ? NOT_FOUND : onError(error);
    }
  }

  /** A container that is not there any more needs no stop (G15). */
  async #stop({ id, annotations }: RuntimeContainerStatus): Promise<Attempt | undefined> {
    try {
      await this.#runtime.stopContainer(id, stopSeconds(annotations));
      return undefined;
    } catch (error) {
      return isNotFound(error) ? undefined : failed('stop-failed', error);
    }
  }
}

/** A container, and what goes with it. */
interface Found {
  readonly status: RuntimeContainerStatus;
  readonly logFiles: FoundLogFiles;
}

const REMOVED: Attempt = { outcome: 'removed' };

const STILL_LISTED: Attempt = {
  outcome: 'failed',
  reason: 'still-listed',
  message: 'the runtime reported the image as removed and lists it still',
};

const RUNNING = refused({ reason: 'running', message: 'the container runs by now' });

const failed = (reason: RemovalFailure, error: unknown): Attempt => ({
  outcome: 'failed',
  reason,
  message: toFleetGcError(error).message,
});

const unavailable = (error: unknown): Attempt =>
  refused({ reason: 'runtime-unavailable', message: toFleetGcError(error).message });

const codeOf = (error: unknown): FleetGcError['code'] => toFleetGcError(error).code;

const isNotFound = (error: unknown): boolean => codeOf(error) === 'RUNTIME_NOT_FOUND';

/** Where the facts themselves are all there is to see. */
const factsAlone = async (facts: RuntimeFacts): Promise<RuntimeFacts> => facts;

async function inOneStep(
  fresh: FreshFacts,
  remove: (facts: RuntimeFacts) => Promise<Attempt>,
): Promise<Attempt> {
  const facts = await fresh.confirm(factsAlone);
  return 'outcome' in facts ? facts : remove(facts);
}

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

/** Tells of an object that we did not remove what we did to it before; of a stop only where it stays. */
export function after(step: AlreadyDone, attempt: Attempt): Attempt {
  if (attempt.outcome === 'removed') return attempt;
  if (attempt.outcome === 'not-found' && step === 'stopped') return attempt;
  return { ...attempt, alreadyDone: [step, ...(attempt.alreadyDone ?? [])] };
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

/** The kubelet's least grace period (G15). */
const MIN_STOP_SECONDS = 2;
/** Longer than this no worker waits for a container that nobody knows to run. */
const MAX_STOP_SECONDS = 600;

/** The grace period that the kubelet wrote on the container. */
function stopSeconds(annotations: Readonly<Record<string, string>>): number {
  const written =
    annotations['io.kubernetes.pod.deletionGracePeriod'] ??
    annotations['io.kubernetes.pod.terminationGracePeriod'] ??
    '';
  const seconds = /^[0-9]{1,9}$/.test(written) ? Number(written) : MIN_STOP_SECONDS;
  return Math.min(Math.max(seconds, MIN_STOP_SECONDS), MAX_STOP_SECONDS);
}

/** Deeper trees than the kubelet makes are not gone into. */
const MAX_DEPTH = 16;

/**
 * Removes one entry of the directory of pod logs with all below it (I3), never following a link and never leaving the
 * filesystem of the root: every directory is opened as itself, and what is removed is named below what was opened.
 * Never rejects.
 */
async function removePodLogDirectory(
  { name, podUid }: { readonly name: string; readonly podUid: string },
  roots: PodLogAccess,
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
async function removeLogSymlink(
  name: string,
  { containers }: CompleteListing,
  roots: PodLogAccess,
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

async function inDirectory(
  { openDirectory }: PodLogAccess,
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
