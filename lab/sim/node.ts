import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ContainerdHandlers } from '../../packages/cri/containerd/server.ts';
import { type CriHandlers, type CriServer, serveCri } from '../../packages/cri/server.ts';
import type { NodeClock } from '../../packages/machine/clock.ts';
import type { FilesystemReader } from '../../packages/machine/filesystem.ts';
import { createKubelet, type SimulatedKubelet } from './kubelet.ts';
import { containerdHandlers, criHandlers } from './runtime/cri.ts';
import { createDisk, type Disk } from './runtime/disk.ts';
import { createFaults, type Faults } from './runtime/faults.ts';
import { boundlessRegistry, type Registry, type RuntimeAge } from './runtime/objects.ts';
import { createRuntime, logBytes, type PodLogRoots, type SimulatedRuntime } from './runtime/runtime.ts';

export interface SimulatedNodeOptions {
  /** Ids and pod UIDs follow from it. */
  readonly name: string;
  /** For the socket and the logs. Short: a socket path has at most 107 bytes. */
  readonly directory: string;
  readonly clock: NodeClock;
  readonly capacityBytes: bigint;
  /** What is neither image nor container nor log. */
  readonly otherBytes?: bigint;
  readonly age?: RuntimeAge;
  readonly registry?: Registry;
  /** Whether it answers containerd's own API beside CRI; else it does not. */
  readonly hasContainerdApi?: boolean;
}

/** A node made up: a CRI server on a real socket, a disk, real log files, and a kubelet. */
export interface SimulatedNode extends AsyncDisposable, PodLogRoots {
  readonly name: string;
  /** `unix://…` of the CRI socket. */
  readonly endpoint: string;
  /** What answers there. */
  readonly cri: CriHandlers;
  /** What answers beside it; `null`: nothing. */
  readonly containerd: ContainerdHandlers | null;
  readonly clock: NodeClock;
  readonly filesystems: FilesystemReader;
  readonly disk: Disk;
  readonly runtime: SimulatedRuntime;
  readonly kubelet: SimulatedKubelet;
  readonly faults: Faults;
  /** The runtime's process goes: calls break, the socket is gone. What it held stays, as on a disk. */
  die(): Promise<void>;
  revive(): Promise<void>;
}

export const SANDBOX_IMAGE = 'registry.k8s.io/pause:3.10';
const SANDBOX_IMAGE_BYTES = 300_000n;

export async function startSimulatedNode(options: SimulatedNodeOptions): Promise<SimulatedNode> {
  const { name, directory, clock } = options;
  const socketPath = join(directory, 'cri.sock');
  const podLogs = { podLogsDir: join(directory, 'pods'), containerLogsDir: join(directory, 'containers') };
  await Promise.all([
    mkdir(podLogs.podLogsDir, { recursive: true }),
    mkdir(podLogs.containerLogsDir, { recursive: true }),
  ]);
  const faults = createFaults();
  const { capacityBytes, otherBytes = 0n } = options;
  const disk = createDisk({ options: { capacityBytes, otherBytes }, mountpoint: directory, clock, faults });
  const runtime = createRuntime({
    name,
    clock,
    disk,
    faults,
    registry: options.registry ?? boundlessRegistry,
    sandboxImage: SANDBOX_IMAGE,
    logBytes: () => logBytes(podLogs.podLogsDir),
  });
  runtime.addImage({ ...SANDBOX, id: boundlessRegistry(SANDBOX_IMAGE).id });
  const cri = criHandlers({ runtime, faults, age: options.age ?? 'current', mountpoint: directory });
  const containerd = options.hasContainerdApi ? containerdHandlers(runtime, faults) : null;
  const process = await runProcess(() => serveCri(socketPath, cri, containerd));
  return {
    name,
    clock,
    faults,
    disk,
    runtime,
    ...podLogs,
    ...process,
    endpoint: `unix://${socketPath}`,
    cri,
    containerd,
    filesystems: { read: async () => disk.readings(logBytes(podLogs.podLogsDir)) },
    kubelet: createKubelet({ nodeName: name, runtime, faults, podLogs }),
    [Symbol.asyncDispose]: process.die,
  };
}

const SANDBOX = {
  repoTags: [SANDBOX_IMAGE],
  repoDigests: [],
  sizeBytes: SANDBOX_IMAGE_BYTES,
  pinned: true,
  isPulled: false,
  labels: {},
};

async function runProcess(start: () => Promise<CriServer>): Promise<Pick<SimulatedNode, 'die' | 'revive'>> {
  let server: CriServer | undefined = await start();
  return {
    die: async () => {
      await server?.close();
      server = undefined;
    },
    revive: async () => {
      server ??= await start();
    },
  };
}
