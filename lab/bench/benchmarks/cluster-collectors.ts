import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { builtKubernetesProgram } from '../../../test/support/toolchain/kubernetes.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { type Child, startProgram, startVerb } from '../child.ts';
import type { ApiArena } from './cluster-arena.ts';

const READY_MS = 60_000;
const COLLECTOR = 'garbage-collector-controller';
/** More than any of the benchmarks deletes in an hour, or with one owner. */
const NO_LIMIT = 1_000_000;

/** Writes the policy that gives the collector to FleetGC, with nothing held for its width; resolves to the file. */
function writePolicy(directory: string): string {
  const path = join(directory, 'policy.yaml');
  const limits = { cascade: NO_LIMIT, cascadeOfKind: NO_LIMIT, removalsPerHour: NO_LIMIT };
  const policy = { kind: 'ClusterPolicy', name: 'bench', mode: 'enforce', collectors: [COLLECTOR], limits };
  writeFileSync(path, stringify(policy));
  return path;
}

/** kube-controller-manager with its garbage collector alone. */
export async function startKcm({ kubeconfig }: ApiArena): Promise<Child> {
  const program = join(await builtKubernetesProgram('kube-controller-manager'), 'kube-controller-manager');
  return startProgram(program, [
    `--kubeconfig=${kubeconfig}`,
    `--controllers=${COLLECTOR}`,
    '--leader-elect=false',
    '--secure-port=0',
  ]);
}

/** Resolves when its collector knows all objects. */
export const kcmIsSynced = (kcm: Child): Promise<void> => kcm.said('all resource monitors have synced');

/** `fleetgc cluster run`, and where it serves its metrics. */
interface ServingChild extends Child {
  readonly port: number;
}

/** Agent, graph-gc and executor in one process, with a new event log. */
export async function startClusterRun(
  arena: ApiArena,
  environment: Readonly<Record<string, string>> = {},
): Promise<ServingChild> {
  const directory = mkdtempSync(join(arena.directory, 'run-'));
  const args = [
    ...['cluster', 'run', '--cluster', 'bench', '--kubeconfig', arena.kubeconfig],
    ...['--policy', writePolicy(directory), '--log-path', join(directory, 'log.db'), '--log-level', 'warn'],
  ];
  const port = await freePort();
  const child = startVerb([...args, '--http-address', `127.0.0.1:${port}`], environment);
  return { ...child, port };
}

/** Resolves when it says that it has all that it needs. */
export async function untilReady({ port, output }: ServingChild): Promise<void> {
  try {
    await waitUntil('the process to be ready', READY_MS, async () => {
      const { status } = await fetch(`http://127.0.0.1:${port}/readyz`);
      return status === 200;
    });
  } catch (cause) {
    throw new Error(`it said last: ${output().slice(-2_000)}`, { cause });
  }
}

async function freePort(): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const server = createServer().once('error', reject);
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
  });
  return await promise;
}
