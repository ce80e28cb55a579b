import { join } from 'node:path';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { writeContainerLog } from './container-logs.ts';
import { refuseRemoval } from './faults.ts';
import type { ContainerRequest, SimulatedContainer, SimulatedImage, SimulatedSandbox } from './objects.ts';
import { idsFor, nowNs, type RuntimeParts } from './runtime-parts.ts';

const WRITABLE_LAYER_BYTES = 100_000n;
const FIRST_LOG_BYTES = 2_000n;

export type SandboxRequest = Pick<SimulatedSandbox, 'metadata' | 'logDirectory' | 'labels' | 'annotations'>;
export type ContainerEventKind = 'created' | 'started' | 'stopped' | 'deleted';

/** The sandboxes and containers of a node; behaves as containerd's runtime service. */
export interface PodStore {
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
export function createPodStore(parts: RuntimeParts, changed: Held['changed']): PodStore {
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
