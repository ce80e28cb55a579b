import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { waitUntil } from '../wait-until.ts';
import type { RealNode } from './real-node.ts';

const STARTED_MS = 20_000;

/** A process inside a node. */
export interface NodeProcess extends AsyncDisposable {
  /** What it wrote so far, stdout and stderr. */
  output(): string;
  /** Its exit code; 128 and the signal's number when a signal ended it. */
  readonly exited: Promise<number>;
  signal(name: 'SIGTERM' | 'SIGINT' | 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): Promise<void>;
}

/** Starts `fleetgc …` of this checkout inside the node. Ended with SIGKILL when disposed. */
export function startFleetgc(
  node: RealNode,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<NodeProcess> {
  return startInNode(node, ['/opt/fleetgc/bin/fleetgc', ...args], environment);
}

/** Starts a program inside the node and leaves it running. */
export async function startInNode(
  node: RealNode,
  command: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<NodeProcess> {
  const pidFile = `/run/fleetgc-node/${randomUUID()}.pid`;
  const variables = Object.entries(environment).flatMap(([key, value]) => ['--env', `${key}=${value}`]);
  const shell = ['sh', '-c', `echo $$ > ${pidFile}; exec "$@"`, 'sh', ...command];
  const child = spawn('docker', ['exec', ...variables, node.containerId, ...shell]);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const exited = new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? Number.NaN));
  });
  await waitUntil(
    `'${command.join(' ')}' to start on ${node.name}`,
    STARTED_MS,
    async () => (await node.tryExec(['test', '-s', pidFile])).exitCode === 0,
  );
  const signal = async (name: string): Promise<void> => {
    await node.exec(['sh', '-c', `kill -${name.replace('SIG', '')} $(cat ${pidFile})`]);
  };
  const dispose = async (): Promise<void> => {
    await node.tryExec(['sh', '-c', `kill -KILL $(cat ${pidFile})`]);
    await exited;
  };
  return { output: () => output, exited, signal, [Symbol.asyncDispose]: dispose };
}
