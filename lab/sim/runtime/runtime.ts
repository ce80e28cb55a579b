import { EventEmitter } from 'node:events';
import { type Dirent, readdirSync, statSync } from 'node:fs';
import { mkdir, open, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sha256Hex } from '../../../packages/canonical/ids.ts';
import { parseReference, repositoryOf } from '../../../packages/cri/image-names.ts';
import type { RuntimeContainerEvent } from '../../../packages/cri/port.ts';
import type { NodeClock } from '../../../packages/machine/clock.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import type { Disk } from './disk.ts';
import { type Faults, refuseRemoval } from './faults.ts';
import {
  type ContainerRequest,
  type ContentPiece,
  contentOf,
  pieceKey,
  type Registry,
  type SimulatedContainer,
  type SimulatedImage,
  type SimulatedSandbox,
} from './objects.ts';

type ContainerEvents = EventEmitter<{ container: [RuntimeContainerEvent] }>;

/** What a simulated runtime holds, and what can be done with it. */
export interface SimulatedRuntime extends ImageStore, Omit<PodStore, 'createContainer'> {
  /** Rejects with `RUNTIME_NOT_FOUND` when the image is not there. */
  createContainer(request: ContainerRequest): string;
  readonly sandboxImage: string;
  /** Containers of containerd that CRI does not list: the name of the image by id. */
  readonly otherContainers: Map<string, string>;
  readonly events: ContainerEvents;
}

export function createRuntime(parts: RuntimeParts): SimulatedRuntime {
  const events: ContainerEvents = new EventEmitter();
  const pods = createPodStore(parts, (containerId, kind) => {
    events.emit('container', { containerId, kind });
    if (kind === 'deleted') images.releaseUnused();
  });
  const images = createImageStore(parts, (imageId) =>
    [...pods.containers.values()].some((container) => container.imageId === imageId),
  );
  return {
    ...pods,
    ...images,
    events,
    sandboxImage: parts.sandboxImage,
    otherContainers: new Map(),
    createContainer: (request) => {
      const image = images.findImage(request.image);
      if (image) return pods.createContainer(request, image);
      throw new FleetGcError('RUNTIME_NOT_FOUND', `image "${request.image}": not found`);
    },
  };
}

/** What every part of a simulated runtime works with. */
interface RuntimeParts {
  /** Distinguishes the ids of one node from those of another. */
  readonly name: string;
  readonly clock: NodeClock;
  readonly disk: Disk;
  readonly faults: Faults;
  readonly registry: Registry;
  /** The image that sandboxes run on. */
  readonly sandboxImage: string;
  /** Bytes of all logs, which share the disk. */
  readonly logBytes: () => bigint;
}

const nowNs = ({ clock }: Pick<RuntimeParts, 'clock'>): bigint => BigInt(clock.now().wallTimeMs) * 1_000_000n;

/** Ids as runtimes make them, 64 hexadecimal digits, but the same in every run. */
function idsFor(name: string): (kind: string) => string {
  let count = 0;
  return (kind) => {
    count += 1;
    return sha256Hex(`${name}/${kind}/${count}`);
  };
}

/** The images of a node; behaves as containerd's image service. */
interface ImageStore {
  readonly images: ReadonlyMap<string, SimulatedImage>;
  /** Puts an image there without a pull, whatever the disk says. */
  addImage(image: SimulatedImage): void;
  /** Resolves to the image id; fails when the registry lacks the image or the disk has no room. */
  pullImage(reference: string): Promise<string>;
  /** Gives an image one more name. */
  tagImage(reference: string, another: string): void;
  /** Removes the image with all its names. An unknown one is no error, and one in use goes too: its bytes stay (K4). */
  removeImage(reference: string): void;
  /** By id, name or digest. */
  findImage(reference: string): SimulatedImage | undefined;
  /** Layers of which no image is listed or used any more become available. */
  releaseUnused(): void;
}

function createImageStore(parts: RuntimeParts, isUsed: (imageId: string) => boolean): ImageStore {
  const images = new Map<string, SimulatedImage>();
  const contents = new Map<string, readonly ContentPiece[]>();
  const findImage = (reference: string) => [...images.values()].find((image) => isCalled(image, reference));
  const addImage = (image: SimulatedImage) => {
    takeTagsFromOthers(images, image);
    images.set(image.id, image);
    contents.set(image.id, contentOf(image));
    for (const piece of contentOf(image)) parts.disk.store(pieceKey(piece), piece.sizeBytes);
  };
  const releaseUnused = () => {
    for (const [id, pieces] of contents) {
      if (images.has(id) || isUsed(id)) continue;
      contents.delete(id);
      for (const piece of missingIn(contents, pieces)) parts.disk.release(pieceKey(piece));
    }
  };
  return {
    images,
    addImage,
    findImage,
    releaseUnused,
    pullImage: async (reference) => {
      const pulled = await fetchImage(parts, reference, contents);
      addImage(mergeNames(images.get(pulled.id), pulled));
      return pulled.id;
    },
    tagImage: (reference, another) => {
      const image = findImage(reference);
      if (image) addImage({ ...image, repoTags: [...image.repoTags, fullName(another)] });
    },
    removeImage: (reference) => {
      const image = findImage(reference);
      if (!image || parts.faults.keptImages.has(image.id)) return;
      refuseRemoval(parts.faults, image.id);
      images.delete(image.id);
      releaseUnused();
    },
  };
}

async function fetchImage(
  { registry, disk, logBytes, sandboxImage }: RuntimeParts,
  reference: string,
  contents: ReadonlyMap<string, readonly ContentPiece[]>,
): Promise<SimulatedImage> {
  const found = registry(reference);
  if (!found) throw new FleetGcError('RUNTIME_NOT_FOUND', `failed to pull ${reference}: not found`);
  const free = disk.capacityBytes - disk.usedBytes(logBytes());
  const missing = missingIn(contents, contentOf(found)).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0n);
  if (missing > free)
    throw new FleetGcError('RUNTIME_FAILED', `failed to pull ${reference}: no space left on device`);
  const name = fullName(reference);
  return {
    id: found.id,
    sizeBytes: found.sizeBytes,
    labels: found.labels,
    repoTags: reference.includes('@') ? [] : [name],
    repoDigests: found.digest === '' ? [] : [`${repositoryOf(name)}@${found.digest}`],
    pinned: name === fullName(sandboxImage),
    isPulled: found.digest !== '',
    ...(found.layers && { layers: found.layers }),
  };
}

/** The pieces that no other image has on the disk. */
function missingIn(
  contents: ReadonlyMap<string, readonly ContentPiece[]>,
  pieces: readonly ContentPiece[],
): readonly ContentPiece[] {
  const there = new Set([...contents.values()].flat().map(pieceKey));
  return pieces.filter((piece) => !there.has(pieceKey(piece)));
}

const mergeNames = (known: SimulatedImage | undefined, pulled: SimulatedImage): SimulatedImage => ({
  ...pulled,
  repoTags: [...new Set([...(known?.repoTags ?? []), ...pulled.repoTags])],
  repoDigests: [...new Set([...(known?.repoDigests ?? []), ...pulled.repoDigests])],
  pinned: pulled.pinned || (known?.pinned ?? false),
  isPulled: pulled.isPulled || (known?.isPulled ?? false),
});

/** A tag names one image: the one that had it before keeps only its digest. */
function takeTagsFromOthers(images: Map<string, SimulatedImage>, { id, repoTags }: SimulatedImage): void {
  for (const other of images.values())
    if (other.id !== id && other.repoTags.some((tag) => repoTags.includes(tag)))
      images.set(other.id, {
        ...other,
        repoTags: other.repoTags.filter((tag) => !repoTags.includes(tag)),
      });
}

const isCalled = ({ id, repoTags, repoDigests }: SimulatedImage, reference: string): boolean =>
  id === reference ||
  id === `sha256:${reference}` ||
  repoTags.includes(fullName(reference)) ||
  repoDigests.includes(reference);

const fullName = (reference: string): string => parseReference(reference)?.names[0] ?? reference;

const WRITABLE_LAYER_BYTES = 100_000n;
const FIRST_LOG_BYTES = 2_000n;

export type SandboxRequest = Pick<SimulatedSandbox, 'metadata' | 'logDirectory' | 'labels' | 'annotations'>;
type ContainerEventKind = 'created' | 'started' | 'stopped' | 'deleted';

/** The sandboxes and containers of a node; behaves as containerd's runtime service. */
interface PodStore {
  readonly sandboxes: ReadonlyMap<string, SimulatedSandbox>;
  readonly containers: ReadonlyMap<string, SimulatedContainer>;
  /** Rejects nothing: the sandbox image is assumed to be there. */
  runSandbox(request: SandboxRequest): string;
  /** Stops its containers with it. An unknown one is no error. */
  stopSandbox(id: string): void;
  /** By force, with its containers. An unknown one is no error. */
  removeSandbox(id: string): void;
  createContainer(request: ContainerRequest, image: SimulatedImage): string;
  startContainer(id: string): Promise<void>;
  /** Ends it, as its process or the runtime would. */
  stopContainer(id: string): void;
  /** By force (K4). An unknown one is no error. */
  removeContainer(id: string): void;
  sandbox(id: string): SimulatedSandbox;
  container(id: string): SimulatedContainer;
}

/** What the functions below work on. */
interface Held {
  readonly parts: RuntimeParts;
  readonly sandboxes: Map<string, SimulatedSandbox>;
  readonly containers: Map<string, SimulatedContainer>;
  readonly newId: (kind: string) => string;
  readonly changed: (containerId: string, kind: ContainerEventKind) => void;
}

/** `changed` hears of every change of a container. */
function createPodStore(parts: RuntimeParts, changed: Held['changed']): PodStore {
  const held: Held = {
    parts,
    changed,
    sandboxes: new Map(),
    containers: new Map(),
    newId: idsFor(parts.name),
  };
  return {
    sandboxes: held.sandboxes,
    containers: held.containers,
    sandbox: (id) => known(held.sandboxes, 'sandbox', id),
    container: (id) => known(held.containers, 'container', id),
    runSandbox: (request) => runSandbox(held, request),
    stopSandbox: (id) => stopSandbox(held, id),
    removeSandbox: (id) => removeSandbox(held, id),
    createContainer: (request, image) => createContainer(held, request, image),
    startContainer: (id) => startContainer(held, id),
    stopContainer: (id) => stopContainer(held, id),
    removeContainer: (id) => removeContainer(held, id),
  };
}

function runSandbox({ parts, sandboxes, newId }: Held, request: SandboxRequest): string {
  const id = newId('sandbox');
  const rest = { image: parts.sandboxImage, state: 'ready', createdAtNs: nowNs(parts) } as const;
  sandboxes.set(id, { ...request, ...rest, id });
  return id;
}

function stopSandbox(held: Held, id: string): void {
  for (const container of containersOf(held, id)) stopContainer(held, container.id);
  const sandbox = held.sandboxes.get(id);
  if (sandbox) sandbox.state = 'notReady';
}

function removeSandbox(held: Held, id: string): void {
  refuseRemoval(held.parts.faults, id);
  for (const container of containersOf(held, id)) removeContainer(held, container.id);
  held.sandboxes.delete(id);
}

const containersOf = ({ containers }: Held, sandboxId: string): SimulatedContainer[] =>
  [...containers.values()].filter((container) => container.sandboxId === sandboxId);

function createContainer(held: Held, request: ContainerRequest, image: SimulatedImage): string {
  const { parts, containers, newId, changed } = held;
  const sandbox = known(held.sandboxes, 'sandbox', request.sandboxId);
  const id = newId('container');
  containers.set(id, newContainer(parts, sandbox, { ...request, id, imageId: image.id }));
  parts.disk.store(id, WRITABLE_LAYER_BYTES);
  changed(id, 'created');
  return id;
}

async function startContainer({ parts, containers, changed }: Held, id: string): Promise<void> {
  const container = known(containers, 'container', id);
  if (container.logFile !== '') await writeContainerLog(container.logFile, FIRST_LOG_BYTES);
  container.state = 'running';
  container.startedAtNs = nowNs(parts);
  changed(id, 'started');
}

function stopContainer({ parts, containers, changed }: Held, id: string): void {
  const container = known(containers, 'container', id);
  if (container.state !== 'running') return;
  container.state = 'exited';
  container.finishedAtNs = nowNs(parts);
  changed(id, 'stopped');
}

function removeContainer(held: Held, id: string): void {
  const { parts, containers, changed } = held;
  if (!containers.has(id)) return;
  refuseRemoval(parts.faults, id);
  stopContainer(held, id);
  containers.delete(id);
  parts.disk.release(id);
  changed(id, 'deleted');
}

const newContainer = (
  parts: RuntimeParts,
  { logDirectory }: SimulatedSandbox,
  request: ContainerRequest & Pick<SimulatedContainer, 'id' | 'imageId'>,
): SimulatedContainer => ({
  ...request,
  logFile: logDirectory === '' || request.logPath === '' ? '' : join(logDirectory, request.logPath),
  state: 'created',
  createdAtNs: nowNs(parts),
  startedAtNs: 0n,
  finishedAtNs: 0n,
});

function known<T>(objects: ReadonlyMap<string, T>, kind: string, id: string): T {
  const object = objects.get(id);
  if (object) return object;
  throw new FleetGcError('RUNTIME_NOT_FOUND', `${kind} "${id}": not found`);
}

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
