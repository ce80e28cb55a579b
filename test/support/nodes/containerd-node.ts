import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StartedTestContainer } from 'testcontainers';
import { connectReader } from '../../../packages/cri/client.ts';
import { type ContainerControl, controlOf, started } from '../container.ts';
import { ensureToolchain, type Need } from '../toolchain/toolchain.ts';
import { waitUntil } from '../wait-until.ts';
import { type NodeOptions, nodeContainer, SOCKET_FOLDER } from './node-container.ts';
import { archiveOf, createImage, type ImageOptions } from './oci-image.ts';

const READY_MS = 30_000;
const SOCKET = `${SOCKET_FOLDER}/containerd.sock`;
/** The image that sandboxes run on, and that containerd 2.4.2 pins. */
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
  /** Gives it a name with its digest beside that with its tag. */
  readonly withDigest?: boolean;
}

/** A real containerd in a container, with a small disk of its own. The checkout is at `/opt/fleetgc`, read-only. */
export interface ContainerdNode extends AsyncDisposable {
  readonly name: string;
  readonly containerId: string;
  /** The runtime's socket for this machine's processes; inside the node it is `/run/containerd/containerd.sock`. */
  readonly endpoint: string;
  /** Runs a program inside the node; rejects when it fails. */
  exec(command: readonly string[]): Promise<string>;
  /** As `exec`, but a failure is an outcome. */
  tryExec(command: readonly string[]): Promise<CommandOutcome>;
  disk(): Promise<NodeDisk>;
  /** Makes an image and imports it: unlike a pulled one it has no repo digest, unless asked for. Resolves to its id. */
  importImage(options: ImportOptions): Promise<string>;
  /** Orderly stop of containerd; what runs goes on. */
  stopContainerd(): Promise<void>;
  killContainerd(): Promise<void>;
  startContainerd(): Promise<void>;
  /** Power off and on: all processes gone, `/run` empty, another boot id, the same disk. */
  reboot(): Promise<void>;
  /** All processes of the node stand still: connections stay open, nothing answers. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
}

/** Starts a node and waits until its runtime answers. It holds the pause image and nothing else. */
export async function startContainerdNode(options: NodeOptions = {}): Promise<ContainerdNode> {
  const name = options.name ?? 'node-a';
  await ensureToolchain(needsOf(options));
  await using stack = new AsyncDisposableStack();
  const sockets = mkdtempSync(join(tmpdir(), 'fleetgc-node-'));
  stack.defer(() => rmSync(sockets, { recursive: true, force: true }));
  const running = await started(nodeContainer(sockets, name, options));
  const control = await controlOf(running.getId());
  const node = nodeOf(running, control, { name, endpoint: `unix://${join(sockets, 'containerd.sock')}` });
  stack.defer(control.remove);
  // So that nothing of its pods stays on this machine; a frozen node cannot tidy up.
  stack.defer(async () => void (await node.tryExec(['node-reboot']).catch(() => {})));
  await ready(node);
  await node.importImage({ name: PAUSE_IMAGE });
  const owned = stack.move();
  return { ...node, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

function needsOf({ runtime, forKubelet, forCluster }: NodeOptions): Need[] {
  if (forKubelet) return [forCluster ? 'cluster-node' : 'kubelet'];
  return runtime === 'containerd-1.6' ? ['containerd', 'containerd-1.6'] : ['containerd'];
}

interface Names {
  readonly name: string;
  readonly endpoint: string;
}

type Node = Omit<ContainerdNode, typeof Symbol.asyncDispose>;

function nodeOf(running: StartedTestContainer, control: ContainerControl, names: Names): Node {
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
    disk: async () => parseDisk(await exec(['stat', '-f', '-c', '%S %b %a %c %d', '/disk'])),
    importImage: async ({ withDigest = false, ...options }) => {
      const image = await createImage(options);
      const archive = `/import-${randomUUID()}.tar`;
      await running.copyContentToContainer([{ content: await archiveOf(image), target: archive }]);
      const digests = withDigest ? ['--digests', '--base-name', options.name.replace(/:[^:/]*$/, '')] : [];
      await exec(['ctr', '-a', SOCKET, '-n', 'k8s.io', 'images', 'import', ...digests, archive]);
      await exec(['rm', archive]);
      return image.configuration.digest;
    },
    stopContainerd: async () => void (await exec(holdAnd('TERM'))),
    killContainerd: async () => void (await exec(holdAnd('KILL'))),
    startContainerd: async () => {
      await exec(['rm', '-f', '/run/fleetgc-node/hold']);
      await ready(node);
    },
    reboot: async () => {
      await exec(['node-reboot']);
      await node.startContainerd();
    },
    freeze: control.freeze,
    thaw: control.thaw,
  };
  return node;
}

/** Ends containerd with this signal, sees that it is gone, and keeps it from being started again. */
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
