import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { startApiServer } from '../../lab/sim/api-server/api-server.ts';
import { SimulatedCluster } from '../../lab/sim/api-server/cluster.ts';
import { SERVED } from '../../lab/sim/api-server/objects.ts';
import { systemSources } from '../../packages/process/system-sources.ts';
import { PROGRAM, PROGRAM_ENVIRONMENT } from '../support/program.ts';
import { simulatedNode } from '../support/simulated-node.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitUntil } from '../support/wait-until.ts';
import { inProcess } from './fleetgc.ts';
import { embeddedLog } from './service-options.ts';
import { BOUND_MS, type SpawnedVerb, spawnVerbWithOpenUmask } from './service-process.ts';

/** Where a verb makes what it leaves, and what it is given beside that. */
interface Places {
  /** Not there yet, and all below it is made by the verb. */
  readonly own: string;
  /** An embedded log that is there. */
  readonly log: readonly string[];
  /** What is read, and never made by a verb. */
  readonly given: string;
}

/** The mode of everything that was left, by its name below the directory. */
function modesIn(directory: string): Readonly<Record<string, string>> {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  return Object.fromEntries(
    entries.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return [path.slice(directory.length + 1), modeOf(path)];
    }),
  );
}

function modeOf(path: string): string {
  const stat = statSync(path);
  const kind = stat.isDirectory() ? 'directory' : stat.isSocket() ? 'socket' : 'file';
  return `${kind} ${(stat.mode & 0o777).toString(8)}`;
}

/** What is for its user alone, and for nobody else. */
const CLOSED = new Set(['file 600', 'directory 700']);
const openIn = (directory: string): readonly string[] =>
  Object.entries(modesIn(directory))
    .filter(([, mode]) => !CLOSED.has(mode))
    .map(([name, mode]) => `${name}: ${mode}`);

async function places(): Promise<Places> {
  const given = temporaryDirectory();
  writeFileSync(join(given, 'machine-id'), '3d1219c7c4c5404aaa1f6d2a48adfda4\n');
  const log = await embeddedLog();
  await inProcess(['pause', '--reason', 'a test', ...log]);
  return { own: join(temporaryDirectory(), 'made'), given, log };
}

const node = ({ own, given }: Places): readonly string[] => [
  ...['--state-directory', join(own, 'deep', 'state')],
  ...['--machine-id-file', join(given, 'machine-id')],
  ...['--runtime-endpoint', join(given, 'no-runtime.sock')],
];

/** Of a cluster that is served for as long as the test runs. */
async function cluster({ given }: Places): Promise<readonly string[]> {
  const { now, newId, wait } = systemSources;
  const token = 'token';
  const simulated = new SimulatedCluster({ kinds: SERVED, now, newId });
  const server = await startApiServer({ cluster: simulated, token, wait });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const kubeconfig = join(given, 'kubeconfig');
  const config = {
    clusters: [{ name: 'c', cluster: { server: server.url } }],
    users: [{ name: 'u', user: { token } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  writeFileSync(kubeconfig, JSON.stringify(config), { mode: 0o600 });
  return ['--cluster', 'c', '--kubeconfig', kubeconfig];
}

interface Service {
  readonly args: (places: Places) => Promise<readonly string[]> | readonly string[];
  readonly environment?: (places: Places) => Readonly<Record<string, string>>;
  /** Whether all is there that it makes at its start. */
  readonly isUnderWay: (running: SpawnedVerb, places: Places) => Promise<boolean> | boolean;
  /** A part of what it has to leave, so that the test looks in the right place. */
  readonly leaves: readonly string[];
}

const isAnswering = async (running: SpawnedVerb): Promise<boolean> =>
  (await running.get('/readyz?verbose')).text.includes('event log');

const isIntroduced = (running: SpawnedVerb): boolean => running.output.stdout.includes('No --policy');

const SERVICES: Readonly<Record<string, Service>> = {
  run: {
    args: (at) => ['run', ...node(at), '--log-path', join(at.own, 'logs', 'log.db')],
    isUnderWay: isIntroduced,
    leaves: ['deep/state', 'logs/log.db', 'logs/log.db-reserve'],
  },
  node: {
    args: (at) => ['node', ...node(at), ...at.log],
    isUnderWay: isAnswering,
    leaves: ['deep/state'],
  },
  'node-agent': {
    args: (at) => ['node-agent', ...node(at), ...at.log],
    isUnderWay: isAnswering,
    leaves: ['deep/state'],
  },
  'cluster run': {
    args: async (at) => [
      ...['cluster', 'run', ...(await cluster(at))],
      ...['--log-path', join(at.own, 'logs', 'log.db')],
    ],
    isUnderWay: isIntroduced,
    leaves: ['logs/log.db', 'logs/log.db-reserve'],
  },
  'cluster executor': {
    args: async (at) => [
      ...['cluster', 'executor', ...(await cluster(at)), '--lease-namespace', 'none', ...at.log],
      ...['--state-directory', join(at.own, 'deep', 'state')],
    ],
    isUnderWay: isAnswering,
    leaves: ['deep/state'],
  },
  dashboard: {
    args: ({ log }) => ['dashboard', ...log],
    environment: ({ own }) => ({ XDG_STATE_HOME: own }),
    isUnderWay: async (running) => (await running.get('/')).status === 200,
    leaves: ['fleetgc/dashboard.db'],
  },
  'audit archive --follow': {
    args: ({ own, log }) => ['audit', 'archive', '--follow', '--to', join(own, 'deep', 'archive'), ...log],
    isUnderWay: (running) => running.output.stdout.includes('head of the archive'),
    leaves: ['deep/archive'],
  },
};

test.each(Object.keys(SERVICES))(
  'where nothing else closes files, all that %s makes is closed',
  async (verb) => {
    const service = SERVICES[verb];
    if (service === undefined) throw new Error('it is in the table');
    const at = await places();
    const running = spawnVerbWithOpenUmask(await service.args(at), service.environment?.(at));
    await waitUntil(`${verb} to be under way`, BOUND_MS, () => service.isUnderWay(running, at));
    for (const name of service.leaves) expect(existsSync(join(at.own, name)), name).toBe(true);
    expect(openIn(at.own)).toEqual([]);
    expect(modeOf(at.own)).toBe('directory 700');
    expect(await running.terminate()).toBe(0);
    expect(openIn(at.own)).toEqual([]);
  },
);

const TASKS: Readonly<
  Record<string, { readonly args: (at: Places) => readonly string[]; readonly leaves: string }>
> = {
  'topics create': {
    args: ({ own }) => [
      'topics',
      'create',
      ...['--log', 'embedded', '--log-path', join(own, 'deep', 'log.db')],
    ],
    leaves: 'deep/log.db',
  },
  'audit archive': {
    args: ({ own, log }) => ['audit', 'archive', '--to', join(own, 'deep', 'archive'), ...log],
    leaves: 'deep/archive',
  },
  'keys create': { args: ({ own }) => ['keys', 'create', join(own, 'root.pem')], leaves: 'root.pem' },
};

const runWithOpenUmask = (args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
  promisify(execFile)('/bin/sh', ['-c', 'umask 000; exec "$0" "$@"', PROGRAM, ...args], {
    env: { ...PROGRAM_ENVIRONMENT, ...environment },
  });

test.each(Object.keys(TASKS))('all that %s writes is closed, too', async (verb) => {
  const task = TASKS[verb];
  if (task === undefined) throw new Error('it is in the table');
  const at = await places();
  if (verb === 'keys create') mkdirSync(at.own, { mode: 0o700 });
  await runWithOpenUmask(task.args(at));
  expect(existsSync(join(at.own, task.leaves))).toBe(true);
  expect(openIn(at.own)).toEqual([]);
});

/** What a kubelet and a runtime make of a node, here by the simulator: in a directory that is closed. */
const OF_SIMULATED_NODES = /^[^/]+\/node-\d+(?:\/(?:pods|containers)(?:\/.*)?)?: /;

test('all that the demo leaves is closed, too, or lies in what is closed', async () => {
  const directory = temporaryDirectory();
  await runWithOpenUmask(['demo', '--duration', '1s', '--json'], { TMPDIR: directory });
  expect(Object.keys(modesIn(directory)).filter((name) => name.endsWith('.db'))).not.toEqual([]);
  expect(readdirSync(directory).map((name) => modeOf(join(directory, name)))).toEqual(['directory 700']);
  expect(openIn(directory).filter((line) => !OF_SIMULATED_NODES.test(line))).toEqual([]);
});

test('what others are to read is theirs to read and no more: the document of policies, and the socket of cri-proxy', async () => {
  const { given, log } = await places();
  const file = join(given, 'policies.jsonl');
  await runWithOpenUmask(['policy', 'export', '--file', file, ...log]);
  expect(modeOf(file)).toBe('file 644');

  const { endpoint } = await simulatedNode();
  const socket = join(given, 'cri.sock');
  const proxy = spawnVerbWithOpenUmask([
    'cri-proxy',
    '--runtime-endpoint',
    endpoint,
    '--proxy-socket',
    socket,
  ]);
  await waitUntil('the socket', BOUND_MS, async () =>
    (await proxy.get('/readyz?verbose')).text.includes('runtime'),
  );
  expect(modeOf(socket)).toBe('socket 660');
  expect(await proxy.terminate()).toBe(0);
});
