import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ContainerdNode, startContainerdNode } from '../../../test/support/nodes/containerd-node.ts';
import type { FromNode, NodeStart, ToNode } from '../node/messages.ts';
import { type ImageSource, REGISTRY } from './image-source.ts';
import { smallFilesystem } from './small-filesystem.ts';

const DISK_BYTES = 160 * 1024 * 1024;
/** For a journal and a history: the size that makes it full is filled by a fault. */
const STATE_BYTES = 16 * 1024 * 1024;

/** Its sources are compiled once for all rounds. */
const COMPILED = join(import.meta.dirname, '..', '..', '..', 'node_modules', '.cache', 'fleetgc', 'chaos');

/** A node whose runtime is behind a process that no fault ends. */
export interface FleetNode extends AsyncDisposable {
  readonly name: string;
  readonly truthPath: string;
  /** Options by which agent and executor find it. */
  readonly options: readonly string[];
  readonly stateDirectory: string;
  /** Where its parts see the boot id; what is written here is what they read after their next start. */
  readonly bootIdFile: string;
  tell(message: ToNode): void;
  /** Throws where its process is gone: nothing goes on there, by no fault of the product. */
  requireAlive(): void;
  /** Resolves when it says so; never when it does not. */
  says(what: FromNode): Promise<void>;
}

export interface NodeSettings {
  readonly name: string;
  /** For everything that the node leaves behind. */
  readonly parent: string;
  /** Where real runtimes pull from; `null`: the runtime is made up. */
  readonly images: ImageSource | null;
}

export async function startNode({ name, parent, images }: NodeSettings): Promise<FleetNode> {
  await using starting = new AsyncDisposableStack();
  const directory = join(parent, name);
  mkdirSync(directory, { recursive: true });
  const diskDirectory = join(directory, 'disk');
  const stateDirectory = join(directory, 'state');
  starting.use(await smallFilesystem(diskDirectory, DISK_BYTES));
  starting.use(await smallFilesystem(stateDirectory, STATE_BYTES));
  const containerd = images === null ? null : starting.use(await startRuntime(name, diskDirectory, images));
  const start: NodeStart = {
    name,
    diskDirectory,
    socketPath: join(directory, 'cri.sock'),
    truthPath: join(directory, 'truth.ndjson'),
    capacityBytes: String(DISK_BYTES),
    runtimeEndpoint: containerd?.endpoint ?? null,
  };
  const files = { machineId: join(directory, 'machine-id'), bootId: join(directory, 'boot-id') };
  for (const file of Object.values(files)) writeFileSync(file, `${randomUUID().replaceAll('-', '')}\n`);
  writeFileSync(files.bootId, `${randomUUID()}\n`);
  const child = fork(join(import.meta.dirname, '..', 'node', 'main.ts'), [JSON.stringify(start)], {
    execArgv: ['--disable-warning=ExperimentalWarning'],
    env: { NODE_COMPILE_CACHE: COMPILED, ...process.env },
  });
  starting.defer(async () => {
    const ended = once(child, 'exit');
    if (child.exitCode === null && child.kill('SIGKILL')) await ended;
  });
  await once(child, 'message');
  const owned = starting.move();
  const outages = containerd && new Outages(containerd);
  return {
    name,
    truthPath: start.truthPath,
    stateDirectory,
    bootIdFile: files.bootId,
    options: nodeOptions(start, stateDirectory, files.machineId),
    tell: (message) => {
      const send = (): void => void (child.connected && child.send(message));
      if (outages) outages.before(message, send);
      else send();
    },
    requireAlive: () => {
      outages?.requireNone();
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`the runtime of ${name} ended with ${child.exitCode ?? child.signalCode}`);
    },
    says: (what) => said(child, what),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** A real containerd that shares the node's disk with this machine. */
async function startRuntime(
  name: string,
  diskDirectory: string,
  { network }: ImageSource,
): Promise<ContainerdNode> {
  const node = await startContainerdNode({ name, network, diskDirectory });
  await node.exec(['cp', '-r', `${CERTIFICATES}/registry:5000`, `${CERTIFICATES}/${REGISTRY}`]);
  return node;
}

/** Where containerd is told how to reach a registry. */
const CERTIFICATES = '/etc/containerd/certs.d';

/** A real runtime that is away was killed; it starts again before its socket is served again. */
class Outages {
  readonly #node: ContainerdNode;
  #isAway = false;
  #problem: unknown = null;
  #last: Promise<void> = Promise.resolve();

  constructor(node: ContainerdNode) {
    this.#node = node;
  }

  /** Messages go on in the order in which they come. */
  before(message: ToNode, send: () => void): void {
    this.#last = this.#last
      .then(() => this.#change(message))
      .catch((error: unknown) => {
        this.#problem = error;
      })
      .then(send);
  }

  /** Throws where containerd could not be ended or started, by no fault of the product. */
  requireNone(): void {
    if (this.#problem !== null) throw new Error('containerd did not come or go', { cause: this.#problem });
  }

  async #change(message: ToNode): Promise<void> {
    if (message.kind === 'trouble' && message.trouble.how === 'away') {
      this.#isAway = true;
      await this.#node.killRuntime();
    }
    if ((message.kind === 'heal' || message.kind === 'amid-over') && this.#isAway) {
      this.#isAway = false;
      await this.#node.startRuntime();
    }
  }
}

const said = (child: ChildProcess, what: FromNode): Promise<void> =>
  new Promise((resolve) => {
    const listener = (message: unknown): void => {
      if (message !== what) return;
      child.off('message', listener);
      resolve();
    };
    child.on('message', listener);
  });

const nodeOptions = (
  { name, diskDirectory, socketPath }: NodeStart,
  stateDirectory: string,
  machineIdFile: string,
): readonly string[] => [
  '--cluster=chaos',
  `--node-name=${name}`,
  `--runtime-endpoint=unix://${socketPath}`,
  `--state-directory=${stateDirectory}`,
  `--nodefs-path=${diskDirectory}`,
  `--machine-id-file=${machineIdFile}`,
  `--pod-logs-dir=${join(diskDirectory, 'pods')}`,
  `--container-logs-dir=${join(diskDirectory, 'containers')}`,
];
