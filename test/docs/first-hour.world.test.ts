import { mkdirSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectReader } from '../../packages/cri/client.ts';
import { textOf } from '../deploy/files.ts';
import { pushImages } from '../e2e/support/images.ts';
import { type Broker, startBroker } from '../support/kafka/kafka.ts';
import { createNetwork, type TestNetwork } from '../support/network.ts';
import { type ApiServer, startApiServer } from '../support/nodes/api-server.ts';
import { type ContainerdNode, startContainerdNode } from '../support/nodes/containerd-node.ts';
import { connectWorkload } from '../support/nodes/cri-workload.ts';
import { type NodeProcess, startInNode } from '../support/nodes/node-process.ts';
import { type Registry, startRegistry } from '../support/nodes/registry.ts';
import { patiently } from '../support/patience.ts';
import { waitUntil } from '../support/wait-until.ts';
import { startNewcomer } from './clusters/newcomer.ts';
import { codeBlocks } from './markdown.ts';

/** The policy of the page lets images grow half a minute old first, and an agent looks once a minute. */
const REMOVED_MS = 300_000;
const SOON_MS = 60_000;
const BOUND_MS = patiently(900_000);
const HOME = '/root/hour';

const page = textOf('docs/first-hour.md');
const [policy = '', clusters = ''] = codeBlocks(page, 'yaml');
/** What somebody types, in the order of the page; lines of blocks that show output are none. */
const onPage = [...page.matchAll(/^( *)```(\w*)\n([\s\S]*?)^\1```$/gm)].flatMap(
  ([, , language, code = '']) =>
    language === ''
      ? code
          .split('\n')
          .map((each) => each.trim())
          .filter((each) => each !== '')
      : [],
);
/** Nothing of these can be typed without a registry; the demo has a test of its own. */
const NOT_TYPED = ['npm ci', 'npm run demo'];
const typed = new Set<string>(NOT_TYPED);

let network: TestNetwork;
let broker: Broker;
let registry: Registry;
let server: ApiServer;
const nodes = new Map<'node-a' | 'node-b', ContainerdNode>();

beforeAll(async () => {
  network = await createNetwork();
  [broker, registry, server] = await Promise.all([
    startBroker({ network }),
    startRegistry(network),
    startApiServer(network),
  ]);
  for (const name of ['node-a', 'node-b'] as const)
    nodes.set(name, await startContainerdNode({ name, network }));
});
afterAll(async () => {
  for (const one of [...nodes.values(), server, registry, broker, network])
    await one?.[Symbol.asyncDispose]();
});

/** The line of the page, which has to stand there; `sudo` is left out, since who types here is root. */
function line(text: string): string {
  expect(onPage).toContain(text);
  typed.add(text);
  return text.replace(/^sudo (-E )?/, '');
}

/** Somebody at a shell of one node, in the folder of the checkout. */
class Shell {
  readonly #node: ContainerdNode;
  readonly #exports: string[] = [];

  constructor(name: 'node-a' | 'node-b') {
    const node = nodes.get(name);
    if (node === undefined) throw new Error(`there is no ${name}`);
    this.#node = node;
  }

  async setUp(): Promise<void> {
    await this.#node.exec(['sh', '-c', `mkdir -p ${HOME} && ln -sfn /opt/fleetgc/bin ${HOME}/bin`]);
  }

  /** What is exported holds for all that follows. The broker has another address here. */
  exports(text: string): void {
    this.#exports.push(line(text).replace('kafka-1:9092', broker.internalAddress));
  }

  /** Resolves to what it printed; it has to end well. */
  types(text: string, put: (command: string) => string = (command) => command): Promise<string> {
    return this.#node.exec(['sh', '-c', this.#script(put(line(text)))]);
  }

  leavesRunning(text: string): Promise<NodeProcess> {
    return startInNode(this.#node, ['sh', '-c', this.#script(`exec ${line(text)}`)]);
  }

  async writes(file: string, text: string): Promise<void> {
    await this.#node.exec(['sh', '-c', `cat > ${HOME}/${file} <<'END'\n${text}END`]);
  }

  #script(command: string): string {
    return [`cd ${HOME}`, ...this.#exports, command].join('\n');
  }
}

async function pull(name: 'node-a' | 'node-b', references: readonly string[]): Promise<void> {
  using workload = connectWorkload(nodes.get(name)?.endpoint ?? '');
  for (const reference of references) await workload.pullImage(reference);
}

const goes = (name: 'node-a' | 'node-b', image: string): Promise<unknown> =>
  waitUntil(`${image} to go from ${name}`, REMOVED_MS, async () => {
    using reader = connectReader(nodes.get(name)?.endpoint ?? '');
    const listed = await reader.listImages();
    return listed.every(({ repoTags }) => !repoTags.includes(image));
  });
const says = (running: NodeProcess, text: string | RegExp, usualMs = SOON_MS): Promise<unknown> =>
  waitUntil(`it to say ${text}`, usualMs, async () => {
    if (running.output().match(text) !== null) return true;
    throw new Error(running.output());
  });

async function interrupt(running: NodeProcess): Promise<void> {
  await running.signal('SIGINT');
  await running.exited;
}

/** Steps 2 to 6; resolves once images are gone. */
async function oneMachine(shell: Shell, image: string): Promise<void> {
  expect(await shell.types('sudo bin/fleetgc plan')).toContain('KEEP');
  expect(await shell.types('sudo bin/fleetgc plan --assume-old')).toContain(image);

  const first = await shell.leavesRunning('sudo bin/fleetgc run');
  await says(first, 'Policy default: dry-run. Nothing will be removed.');
  await says(first, 'Event log: /var/lib/fleetgc/event-log.db');
  expect(await shell.types('sudo bin/fleetgc doctor node --log embedded')).toMatch(
    /^ok +state-lock +agent: process/m,
  );
  await interrupt(first);

  await shell.writes('policy.yaml', policy);
  expect(await shell.types('bin/fleetgc policy validate policy.yaml')).toContain('first-hour');
  const plan = 'sudo bin/fleetgc plan --policy policy.yaml --state-directory /var/lib/fleetgc';
  expect(await shell.types(plan)).toContain(image);
  const dry = await shell.leavesRunning('sudo bin/fleetgc run --policy policy.yaml');
  await says(dry, 'Policy first-hour: dry-run. Nothing will be removed.');
  await says(dry, 'but this is a dry run', REMOVED_MS);

  expect(await shell.types('sudo bin/fleetgc audit report --log embedded --part dry-run')).toContain(
    'first-hour',
  );
  const explain = 'sudo bin/fleetgc audit explain IMAGE --log embedded';
  expect(await shell.types(explain, (command) => command.replace('IMAGE', image))).toContain(image);
  expect(await shell.types('sudo bin/fleetgc audit verify --log embedded')).toMatch(/came out the same/);
  await interrupt(dry);

  await shell.writes('policy.yaml', policy.replace('mode: dry-run', 'mode: enforce'));
  const enforced = await shell.leavesRunning('sudo bin/fleetgc run --policy policy.yaml');
  await says(enforced, 'Policy first-hour: enforce. What it allows will be removed.');
  await goes('node-a', image);
  expect(await shell.types('sudo bin/fleetgc pause --log embedded')).toContain('paused');
  expect(await shell.types('sudo bin/fleetgc resume --all --log embedded')).toContain('resumed');
  await interrupt(enforced);
}

const SETTINGS = ['export FLEETGC_KAFKA_BROKERS=kafka-1:9092', 'export FLEETGC_TRUST=off'];

async function twoNodes(a: Shell, b: Shell, image: string): Promise<void> {
  for (const setting of [...SETTINGS, 'export FLEETGC_KAFKA_REPLICATION_FACTOR=1']) a.exports(setting);
  for (const setting of SETTINGS) b.exports(setting);
  expect(await a.types('bin/fleetgc topics create --wait 60s')).toContain('created');
  expect(await a.types('bin/fleetgc policy apply policy.yaml')).toContain('first-hour: created');
  await using decide = await a.leavesRunning('bin/fleetgc decide');
  const start = 'sudo -E bin/fleetgc node --cluster prod';
  await using _onA = await a.leavesRunning(start);
  await using _onB = await b.leavesRunning(start);
  await waitUntil('both nodes to be heard', SOON_MS, async () => {
    const heard = await a.types('bin/fleetgc nodes');
    return /^prod +node-a /m.test(heard) && /^prod +node-b /m.test(heard);
  });
  await goes('node-b', image);
  expect(await a.types('bin/fleetgc audit report')).toContain('prod/node-b');
  expect(await a.types('bin/fleetgc status')).toContain('Nodes: 2 heard');
  expect(await b.types('sudo -E bin/fleetgc doctor node --cluster prod')).toMatch(/^0 problems/m);
  expect(await a.types('bin/fleetgc pause --cluster prod --node-name node-b')).toContain('paused');
  expect(await a.types('bin/fleetgc pause')).toContain('paused');
  expect(await a.types('bin/fleetgc resume --all')).toContain('resumed');
  expect(decide.output()).not.toContain('"level":"error"');
}

async function aCluster(): Promise<void> {
  const newcomer = await startNewcomer(server);
  mkdirSync(newcomer.file('state'), { recursive: true });
  writeFileSync(newcomer.file('clusters.yaml'), clusters);
  const planned = 'bin/fleetgc cluster plan --kubeconfig ~/.kube/config --policy clusters.yaml';
  await newcomer.types(line(planned));
  const run = newcomer.leavesRunning(
    line('sudo bin/fleetgc cluster run --cluster prod --kubeconfig ~/.kube/config --policy clusters.yaml'),
  );
  await waitUntil('cluster run to name its policy', SOON_MS, () =>
    /clusters.*dry-run|dry-run.*clusters/i.test(run.said()),
  );
  expect(await run.interrupt()).toBe(0);
}

test('the page, from one machine to a removal, to two nodes with Kafka, to a cluster', {
  timeout: BOUND_MS,
}, async () => {
  const images = await pushImages(registry, 'hour', { web: 30, shop: 30, mail: 30 });
  const references = Object.values(images).map(({ reference }) => reference);
  const [a, b] = [new Shell('node-a'), new Shell('node-b')];
  await Promise.all([a.setUp(), b.setUp(), pull('node-a', references)]);

  await oneMachine(a, images.web.reference);
  await pull('node-b', references);
  await twoNodes(a, b, images.web.reference);
  await aCluster();

  expect(onPage.filter((each) => !typed.has(each))).toEqual([]);
});
