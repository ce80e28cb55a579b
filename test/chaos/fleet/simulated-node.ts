import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FromNode, NodeStart, ToNode } from '../simulated/messages.ts';
import { smallFilesystem } from './small-filesystem.ts';

const DISK_BYTES = 128 * 1024 * 1024;
/** For a journal and a history: the size that makes it full is filled by a fault. */
const STATE_BYTES = 16 * 1024 * 1024;

/** Its sources are compiled once for all rounds. */
const COMPILED = join(import.meta.dirname, '..', '..', '..', 'node_modules', '.cache', 'fleetgc', 'chaos');

/** A made up node whose runtime is a process of its own. */
export interface SimulatedNode extends AsyncDisposable {
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

export async function startSimulatedNode(name: string, parent: string): Promise<SimulatedNode> {
  await using starting = new AsyncDisposableStack();
  const directory = join(parent, name);
  mkdirSync(directory, { recursive: true });
  const start: NodeStart = {
    name,
    diskDirectory: join(directory, 'disk'),
    socketPath: join(directory, 'cri.sock'),
    truthPath: join(directory, 'truth.ndjson'),
    capacityBytes: String(DISK_BYTES),
  };
  const stateDirectory = join(directory, 'state');
  starting.use(await smallFilesystem(start.diskDirectory, DISK_BYTES));
  starting.use(await smallFilesystem(stateDirectory, STATE_BYTES));
  const files = { machineId: join(directory, 'machine-id'), bootId: join(directory, 'boot-id') };
  for (const file of Object.values(files)) writeFileSync(file, `${randomUUID().replaceAll('-', '')}\n`);
  writeFileSync(files.bootId, `${randomUUID()}\n`);
  const child = fork(join(import.meta.dirname, '..', 'simulated', 'main.ts'), [JSON.stringify(start)], {
    execArgv: ['--disable-warning=ExperimentalWarning'],
    env: { NODE_COMPILE_CACHE: COMPILED, ...process.env },
  });
  starting.defer(async () => {
    const ended = once(child, 'exit');
    if (child.exitCode === null && child.kill('SIGKILL')) await ended;
  });
  await once(child, 'message');
  const owned = starting.move();
  return {
    name,
    truthPath: start.truthPath,
    stateDirectory,
    bootIdFile: files.bootId,
    options: nodeOptions(start, stateDirectory, files.machineId),
    tell: (message) => void (child.connected && child.send(message)),
    requireAlive: () => {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`the simulated ${name} ended with ${child.exitCode ?? child.signalCode}`);
    },
    says: (what) => said(child, what),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
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
