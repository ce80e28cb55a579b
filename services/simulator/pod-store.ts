import { join } from 'node:path';
import { FleetGcError } from '../shared/errors.ts';
import { refuseRemoval } from './faults.ts';
import { writeLog } from './logs.ts';
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

/** `changed` hears of every change of a container. */
export function createPodStore(
  parts: RuntimeParts,
  changed: (containerId: string, kind: ContainerEventKind) => void,
): PodStore {
  const sandboxes = new Map<string, SimulatedSandbox>();
  const containers = new Map<string, SimulatedContainer>();
  const newId = idsFor(parts.name);
  const container = (id: string) => known(containers, 'container', id);
  const sandbox = (id: string) => known(sandboxes, 'sandbox', id);
  const containersOf = (sandboxId: string) =>
    [...containers.values()].filter((c) => c.sandboxId === sandboxId);

  const stopContainer = (id: string) => {
    const one = container(id);
    if (one.state !== 'running') return;
    one.state = 'exited';
    one.finishedAtNs = nowNs(parts);
    changed(id, 'stopped');
  };
  const removeContainer = (id: string) => {
    if (!containers.has(id)) return;
    refuseRemoval(parts.faults, id);
    stopContainer(id);
    containers.delete(id);
    parts.disk.release(id);
    changed(id, 'deleted');
  };
  const stopSandbox = (id: string) => {
    for (const one of containersOf(id)) stopContainer(one.id);
    const one = sandboxes.get(id);
    if (one) one.state = 'notReady';
  };
  return {
    sandboxes,
    containers,
    container,
    sandbox,
    stopContainer,
    removeContainer,
    stopSandbox,
    runSandbox: (request) => {
      const id = newId('sandbox');
      const rest = { image: parts.sandboxImage, state: 'ready', createdAtNs: nowNs(parts) } as const;
      sandboxes.set(id, { ...request, ...rest, id });
      return id;
    },
    removeSandbox: (id) => {
      refuseRemoval(parts.faults, id);
      stopSandbox(id);
      for (const one of containersOf(id)) removeContainer(one.id);
      sandboxes.delete(id);
    },
    createContainer: (request, image) => {
      const id = newId('container');
      containers.set(
        id,
        newContainer(parts, sandbox(request.sandboxId), { ...request, id, imageId: image.id }),
      );
      parts.disk.store(id, WRITABLE_LAYER_BYTES);
      changed(id, 'created');
      return id;
    },
    startContainer: async (id) => {
      const one = container(id);
      if (one.logFile !== '') await writeLog(one.logFile, FIRST_LOG_BYTES);
      one.state = 'running';
      one.startedAtNs = nowNs(parts);
      changed(id, 'started');
    },
  };
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
