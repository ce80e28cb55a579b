import { afterAll, beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { z } from 'zod';
import { connectReader } from '../../../packages/cri/client.ts';
import { inProcess } from '../../cli/fleetgc.ts';
import { type FleetLog, followFleet } from '../../e2e/support/fleet/fleet-log.ts';
import { objectResults } from '../../e2e/support/outcomes.ts';
import { type Broker, startBroker } from '../../support/kafka/kafka.ts';
import { createNetwork, type TestNetwork } from '../../support/network.ts';
import { type Cluster, startCluster } from '../../support/nodes/cluster/cluster.ts';
import { connectWorkload } from '../../support/nodes/cri-workload.ts';
import { fillDisk } from '../../support/nodes/disk-filler.ts';
import { type PushedImage, type Registry, startRegistry } from '../../support/nodes/registry.ts';
import { patiently } from '../../support/patience.ts';
import { ensureServiceImage } from '../../support/toolchain/images/service-image.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { makeKeys } from './keys.ts';
import { COMMANDS, FILES } from './page.ts';
import { openShell, type Shell } from './shell.ts';

const NODE = 'node-a';
const MEBIBYTE = 1024 * 1024;
/** Our own image takes a third of it. */
const DISK_MEBIBYTES = 2000;
/** Unpacked and packed each takes a little more than one percent of that disk. */
const IMAGES = 16;
const IMAGE_MEBIBYTES = 12;
const LOW_PERCENT = 55;
const POLICY = {
  name: 'default',
  mode: 'enforce',
  imageGCHighThresholdPercent: 58,
  imageGCLowThresholdPercent: LOW_PERCENT,
  imageMinimumGCAge: '1s',
};
const RELIEVED_MS = 120_000;
const POD_MS = 60_000;
const LEFT_MS = 60_000;
const BOUND_MS = patiently(600_000);

/** What cannot be typed here: there is no registry of ours to push to, and this broker asks for no password. */
const NOT_TYPED = /^docker |fleetgc-kafka-/;
const typed = new Set<string>();

let network: TestNetwork;
let broker: Broker;
let registry: Registry;
let cluster: Cluster;
let log: FleetLog;
let shell: Shell;

beforeAll(async () => {
  const image = await ensureServiceImage();
  network = await createNetwork();
  [broker, registry, cluster] = await Promise.all([
    startBroker({ network }),
    startRegistry(network),
    startCluster({ network, nodeName: NODE, diskMebibytes: DISK_MEBIBYTES }),
  ]);
  await cluster.load(image, 'registry.example/fleetgc:0.1.0');
  log = await followFleet(broker.address, async () => (await shell.types(PODS)) + (await shell.types(SAID)));
}, BOUND_MS);
afterAll(async () => {
  for (const one of [log, cluster, registry, broker, network]) await one?.[Symbol.asyncDispose]();
}, BOUND_MS);

const PODS = 'kubectl get pods --all-namespaces --output wide';
const SAID =
  'kubectl -n fleetgc get events --output custom-columns=O:.involvedObject.name,M:.message --no-headers';

/** Types the commands of the page that fit, in its order. */
async function follow(fits: RegExp): Promise<void> {
  const found = COMMANDS.filter((command) => fits.test(command));
  if (found.length === 0) throw new Error(`the page has no command like ${fits}`);
  for (const command of found) {
    typed.add(command);
    await shell.types(command);
  }
}

/** The settings of the page, with this broker. */
const settings = (more: object = {}): string => {
  const here = FILES.settings.replace(
    /brokers: .*/,
    `brokers: [${broker.internalAddress}]\n  replicationFactor: 1`,
  );
  expect(here).not.toBe(FILES.settings);
  return `${here}${Object.keys(more).length > 0 ? stringify(more) : ''}`;
};

const imageIds = async (): Promise<Set<string>> => {
  using reader = connectReader(cluster.node.endpoint);
  return new Set((await reader.listImages()).map(({ id }) => id));
};
const removedImages = (): readonly string[] =>
  objectResults(log, NODE).flatMap(({ object, result }) =>
    object.kind === 'image' && result.outcome === 'removed' ? [object.id] : [],
  );
const usedPercent = async (): Promise<number> => {
  const { capacityBytes, availableBytes } = await cluster.node.disk();
  return (100 * (capacityBytes - availableBytes)) / capacityBytes;
};
const relieved = (): Promise<unknown> =>
  log.until('the disk to be relieved', RELIEVED_MS, async () => (await usedPercent()) <= LOW_PERCENT);

/** Two pods of somebody's, one of which ends, and images that nobody uses. */
async function liveThere(images: readonly PushedImage[]): Promise<void> {
  const [web, batch, ...unused] = images.map(({ reference }) => reference);
  await shell.types(`kubectl run web --image=${web}`);
  await shell.types(`kubectl run batch --image=${batch}`);
  await shell.types(`kubectl wait pod --all --for=condition=Ready --timeout=${POD_MS}ms`);
  await shell.types('kubectl delete pod batch --grace-period=1');
  using workload = connectWorkload(cluster.node.endpoint);
  for (const reference of unused) await workload.pullImage(reference);
}

/** A node that fills: what nobody uses goes until there is room, and nothing else. */
async function fills(images: readonly PushedImage[]): Promise<void> {
  const before = await imageIds();
  await fillDisk(cluster.node, 60);
  await relieved();
  await endsAtTarget();
  const now = await imageIds();
  const gone = [...before].filter((id) => !now.has(id));
  expect(gone.toSorted()).toEqual(removedImages().toSorted());
  const unused = new Set(images.slice(1).map(({ id }) => id));
  expect(gone.filter((id) => !unused.has(id))).toEqual([]);
}

const commandResults = () =>
  log
    .events('results')
    .flatMap((event) => (event.type === 'fleetgc.node.command-result' && event.node === NODE ? [event] : []));

/** Every command has its end, and the last that did anything reached the target. */
async function endsAtTarget(): Promise<void> {
  await log.until('every command to have a result', RELIEVED_MS, () => {
    const ended = new Set(commandResults().map(({ commandId }) => commandId));
    return log.events('commands').every(({ id }) => ended.has(id));
  });
  const last = commandResults().findLast(({ result }) => result.outcome === 'done');
  expect(last?.result).toMatchObject({ targetReached: true });
}

/** `helm upgrade` while a reclaim is under way: it cannot end before that, since no pod but the node's finds a place. */
async function upgradesInAReclaim(): Promise<void> {
  const commands = log.events('commands').length;
  const removed = removedImages().length;
  shell.writes('fleetgc.yaml', settings({ settings: { FLEETGC_LOG_LEVEL: 'debug' } }));
  await shell.types(`kubectl cordon ${NODE}`);
  const node = await shell.types(NODE_POD);
  let isUpgraded = false;
  const upgrade = follow(/^helm upgrade /).then(() => {
    isUpgraded = true;
  });
  await fillDisk(cluster.node, 66, '/disk/filler-of-the-upgrade');
  await log.until('a command', RELIEVED_MS, () => log.events('commands').length > commands);
  await log.until('the pod of the node to be another', POD_MS, async () => {
    const now = await shell.types(NODE_POD);
    return now !== '' && now !== node;
  });
  expect(isUpgraded).toBe(false);
  await shell.types(`kubectl uncordon ${NODE}`);
  await upgrade;
  await relieved();
  await endsAtTarget();
  expect(removedImages().length).toBeGreaterThan(removed);
  expect(new Set(removedImages()).size).toBe(removedImages().length);
  expect(await level()).toBe('debug');
}
const NODE_POD =
  'kubectl -n fleetgc get pods -l app.kubernetes.io/component=node -o jsonpath={.items[*].metadata.name}';
const level = (): Promise<string> =>
  shell.types('kubectl -n fleetgc get configmap fleetgc -o jsonpath={.data.FLEETGC_LOG_LEVEL}');

/** What the log holds is proved again, with the roots of this fleet. */
async function verified(): Promise<void> {
  const { exitCode, stdout, stderr } = await inProcess(['audit', 'verify'], {
    FLEETGC_KAFKA_BROKERS: broker.address,
    FLEETGC_TRUST_ROOTS: shell.file('roots.yaml'),
  });
  expect(exitCode, `${stdout}\n${stderr}`).toBe(0);
}

const Listed = z.object({
  items: z.array(
    z.object({
      kind: z.string(),
      metadata: z.object({
        name: z.string(),
        namespace: z.string().default(''),
        labels: z.record(z.string(), z.string()).default({}),
      }),
    }),
  ),
});

/** Every object of every kind that has to do with FleetGC, by its name, its namespace or a label. */
async function left(): Promise<readonly string[]> {
  const names = await shell.types('kubectl api-resources --verbs=list,get --output=name');
  const kinds = names
    .split('\n')
    .filter((name) => name !== '')
    .join(',');
  const { items } = Listed.parse(
    JSON.parse(await shell.types(`kubectl get ${kinds} --all-namespaces -o json`)),
  );
  return items
    .filter(({ kind, metadata }) => kind !== 'Event' && /fleetgc/.test(JSON.stringify(metadata)))
    .map(({ kind, metadata }) => `${kind}/${metadata.name}`)
    .toSorted();
}

test('the page, followed on a whole cluster: installed, a node that fills, upgraded in a reclaim, taken back, uninstalled', {
  timeout: BOUND_MS,
}, async () => {
  shell = await openShell(cluster.kubeconfig);
  const before = await left();
  const images = await Promise.all(
    Array.from({ length: IMAGES }, (_, index) =>
      registry.push(`shop/image-${index}`, '1', IMAGE_MEBIBYTES * MEBIBYTE),
    ),
  );
  await liveThere(images);
  await makeKeys(shell.file);
  shell.writes('policy.yaml', stringify(POLICY));
  shell.writes('fleetgc.yaml', settings());
  await follow(/^cat |^kubectl create namespace |^kubectl label |secret generic fleetgc-signing-/);
  await follow(/^helm install |^kubectl -n fleetgc rollout status /);
  const installed = await left();

  await fills(images);
  await upgradesInAReclaim();
  await verified();

  await follow(/^helm rollback /);
  expect(await level()).toBe('');
  await shell.types('kubectl -n fleetgc rollout status daemonset/fleetgc-node --timeout=10m');
  expect(steady(await left())).toEqual(steady(installed));

  await follow(/^helm uninstall /);
  await waitUntil('nothing but what somebody made to be left', LEFT_MS, async () => {
    const now = (await left()).filter((name) => !before.includes(name));
    return now.every((name) => OWN.has(name)) || Promise.reject(new Error(now.join(' ')));
  });
  await follow(/^kubectl delete namespace /);
  expect(await left()).toEqual(before);
  expect(COMMANDS.filter((command) => !typed.has(command) && !NOT_TYPED.test(command))).toEqual([]);
});

/** Without what another release makes anew. */
const steady = (names: readonly string[]): readonly string[] =>
  names.filter((name) => !/^(Pod|ReplicaSet|ControllerRevision|Secret)\//.test(name));

/** What the page has somebody make, and what Kubernetes makes in each namespace. */
const OWN: ReadonlySet<string> = new Set([
  'Namespace/fleetgc',
  'Secret/fleetgc-signing-deciders',
  'Secret/fleetgc-signing-operators',
  'ConfigMap/kube-root-ca.crt',
  'ServiceAccount/default',
]);
