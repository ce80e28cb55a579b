import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StartedTestContainer } from 'testcontainers';
import { connectReader } from '../../../packages/cri/client.ts';
import { type ContainerControl, controlOf, started } from '../container.ts';
import { ensureToolchain, type Need } from '../toolchain/toolchain.ts';
import type { NodeRuntime } from '../toolchain/versions.ts';
import { waitUntil } from '../wait-until.ts';
import { type NodeOptions, nodeContainer } from './node-container.ts';
import { NODE_RUNTIMES } from './node-runtimes.ts';
import { SOCKET_FOLDER } from './node-socket.ts';
import { archiveOf, createImage, type ImageOptions } from './oci-image.ts';

const READY_MS = 30_000;
/** Whatever the runtime: who runs on a node is told where. */
const SOCKET = `${SOCKET_FOLDER}/containerd.sock`;
/** The image that sandboxes run on, and that containerd 2.4.2 and CRI-O pin. */
export const PAUSE_IMAGE = 'docker.io/local/pause:1';

export interface CommandOutcome {
  readonly exitCode: number;
  readonly output: string;
}

/** The node's disk as its kernel tells it. */
export interface NodeDisk {
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
}

export interface ImportOptions extends ImageOptions {
  /** Gives it a name with its digest beside that with its tag, which on CRI-O every image has. */
  readonly withDigest?: boolean;
}

/** A real runtime in a container, with a small disk of its own. The checkout is at `/opt/fleetgc`, read-only. */
export interface RealNode extends AsyncDisposable {
  readonly name: string;
  readonly runtimeName: NodeRuntime;
  readonly containerId: string;
  /** The runtime's socket for this machine's processes; inside the node it lies where the runtime has it by default. */
  readonly endpoint: string;
  /** Runs a program inside the node; rejects when it fails. */
  exec(command: readonly string[]): Promise<string>;
  /** As `exec`, but a failure is an outcome. */
  tryExec(command: readonly string[]): Promise<CommandOutcome>;
  disk(): Promise<NodeDisk>;
  /** Makes an image and imports it: unlike a pulled one it has no repo digest, unless asked for. Resolves to its id. */
  importImage(options: ImportOptions): Promise<string>;
  /** The id that the runtime gives an image of which this is the configuration. */
  imageIdOf(configurationDigest: string): string;
  /** Gives an image one more name. */
  tagImage(reference: string, another: string): Promise<void>;
  /** Orderly stop of the runtime; what runs goes on. */
  stopRuntime(): Promise<void>;
  killRuntime(): Promise<void>;
  startRuntime(): Promise<void>;
  /** Power off and on: all processes gone, `/run` empty, another boot id, the same disk. */
  reboot(): Promise<void>;
  /** All processes of the node stand still: connections stay open, nothing answers. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
}

/** Starts a node and waits until its runtime answers. It holds the pause image and nothing else. */
export async function startRealNode(options: NodeOptions = {}): Promise<RealNode> {
  const { runtime = 'containerd-2.4.2' } = options;
  const name = options.name ?? 'node-a';
  await ensureToolchain(needsOf(options));
  await using stack = new AsyncDisposableStack();
  const sockets = mkdtempSync(join(tmpdir(), 'fleetgc-node-'));
  stack.defer(() => rmSync(sockets, { recursive: true, force: true }));
  const running = await started(nodeContainer(sockets, name, options));
  const control = await controlOf(running.getId());
  const endpoint = `unix://${join(sockets, 'containerd.sock')}`;
  const node = nodeOf(running, control, { name, runtimeName: runtime, endpoint });
  stack.defer(control.remove);
  // So that nothing of its pods stays on this machine; a frozen node cannot tidy up.
  stack.defer(async () => void (await node.tryExec(['node-reboot']).catch(() => {})));
  await ready(node);
  await node.importImage({ name: PAUSE_IMAGE });
  const owned = stack.move();
  return { ...node, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

function needsOf({ runtime = 'containerd-2.4.2', forKubelet, forCluster }: NodeOptions): readonly Need[] {
  if (forKubelet) return [forCluster ? 'cluster-node' : 'kubelet'];
  return NODE_RUNTIMES[runtime].needs;
}

type Names = Pick<RealNode, 'name' | 'runtimeName' | 'endpoint'>;

type Node = Omit<RealNode, typeof Symbol.asyncDispose>;

function nodeOf(running: StartedTestContainer, control: ContainerControl, names: Names): Node {
  const { imageIdOf, importing, tagging } = NODE_RUNTIMES[names.runtimeName];
  const tryExec = async (command: readonly string[]): Promise<CommandOutcome> => {
    const { exitCode, output } = await running.exec([...command]);
    return { exitCode, output };
  };
  const exec = async (command: readonly string[]): Promise<string> => {
    const { exitCode, output } = await tryExec(command);
    if (exitCode !== 0)
      throw new Error(`'${command.join(' ')}' on ${names.name} ended with ${exitCode}: ${output}`);
    return output;
  };
  const node: Node = {
    ...names,
    containerId: running.getId(),
    tryExec,
    exec,
    imageIdOf,
    disk: async () => parseDisk(await exec(['stat', '-f', '-c', '%S %b %a %c %d', '/disk'])),
    importImage: async ({ withDigest = false, ...options }) => {
      const image = await createImage(options);
      const archive = `/import-${randomUUID()}.tar`;
      await running.copyContentToContainer([{ content: await archiveOf(image), target: archive }]);
      await exec(importing({ archive, name: options.name, withDigest }));
      await exec(['rm', archive]);
      return imageIdOf(image.configuration.digest);
    },
    tagImage: async (reference, another) => void (await exec(tagging(reference, another))),
    stopRuntime: async () => void (await exec(holdAnd('TERM'))),
    killRuntime: async () => void (await exec(holdAnd('KILL'))),
    startRuntime: async () => {
      await exec(['rm', '-f', '/run/fleetgc-node/hold']);
      await ready(node);
    },
    reboot: async () => {
      await exec(['node-reboot']);
      await node.startRuntime();
    },
    freeze: control.freeze,
    thaw: control.thaw,
  };
  return node;
}

/** Ends the runtime with this signal, sees that it is gone, and keeps it from being started again. */
function holdAnd(signal: 'TERM' | 'KILL'): readonly string[] {
  const script = `touch /run/fleetgc-node/hold; pid=$(cat /run/fleetgc-node/containerd.pid); kill -${signal} "$pid"; while kill -0 "$pid" 2>/dev/null; do sleep 0.02; done`;
  return ['timeout', '200', 'sh', '-c', script];
}

async function ready(node: Node): Promise<void> {
  using reader = connectReader(node.endpoint);
  await waitUntil(`the runtime of ${node.name} to answer`, READY_MS, async () => {
    // Who runs the tests need not be root to reach the runtime.
    await node.exec(['chmod', '0666', SOCKET]);
    return (await reader.status()).runtimeReady;
  });
}

function parseDisk(output: string): NodeDisk {
  const [blockBytes = 0, blocks = 0, available = 0, inodes = 0, inodesFree = 0] = output
    .trim()
    .split(' ')
    .map(Number);
  return { capacityBytes: blockBytes * blocks, availableBytes: blockBytes * available, inodes, inodesFree };
}
