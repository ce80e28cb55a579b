import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { connectReader } from '../../../packages/cri/client.ts';
import { PolicyObjectStatus } from '../../../schemas/policy/policy-object.ts';
import { inProcess } from '../../cli/fleetgc.ts';
import { type FleetLog, followFleet } from '../../e2e/support/fleet/fleet-log.ts';
import { decisionsOf, objectResults } from '../../e2e/support/outcomes.ts';
import type { GuardedBroker } from '../../support/kafka/guarded-broker.ts';
import { createNetwork, type TestNetwork } from '../../support/network.ts';
import { type Cluster, startCluster } from '../../support/nodes/cluster/cluster.ts';
import { connectWorkload } from '../../support/nodes/cri-workload.ts';
import { fillDisk } from '../../support/nodes/disk-filler.ts';
import { type PushedImage, type Registry, startRegistry } from '../../support/nodes/registry.ts';
import { patiently } from '../../support/patience.ts';
import { ensureServiceImage } from '../../support/toolchain/images/service-image.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { brokersFor, loginOf, startUsersBroker, writePasswords } from './kafka-users.ts';
import { makeKeys } from './keys.ts';
import { COMMANDS, FILES, POLICY_COMMANDS, POLICY_OBJECT, RULES_COMMAND } from './page.ts';
import { openShell, type Shell } from './shell.ts';

const NODE = 'node-a';
const POOL = 'web';
const MEBIBYTE = 1024 * 1024;
/** Our own image takes a quarter of it. */
const DISK_MEBIBYTES = 2400;
/** Unpacked and packed each takes one percent of that disk. */
const IMAGES = 22;
const IMAGE_MEBIBYTES = 12;
const LOW_PERCENT = 55;
const THRESHOLDS = {
  imageGCHighThresholdPercent: 58,
  imageGCLowThresholdPercent: LOW_PERCENT,
  imageMinimumGCAge: '1s',
};
/** Of the operators of the fleet, who let clusters decide for themselves. */
const POLICY = { name: 'default', mode: 'dry-run', priority: -2000, ...THRESHOLDS };
const RELIEVED_MS = 120_000;
const POD_MS = 60_000;
const LEFT_MS = 60_000;
const BOUND_MS = patiently(600_000);

/** What cannot be typed here: there is no registry of ours to push to. */
const NOT_TYPED = /^docker /;
const typed = new Set<string>();

let network: TestNetwork;
let broker: GuardedBroker;
let registry: Registry;
let cluster: Cluster;
let log: FleetLog;
let shell: Shell;

beforeAll(async () => {
  const image = await ensureServiceImage();
  network = await createNetwork();
  [broker, registry, cluster] = await Promise.all([
    startUsersBroker(network),
    startRegistry(network),
    startCluster({ network, nodeName: NODE, diskMebibytes: DISK_MEBIBYTES }),
  ]);
  await cluster.load(image, 'registry.example/fleetgc:0.1.0');
}, BOUND_MS);
afterAll(async () => {
  for (const one of [log, cluster, registry, broker, network]) await one?.[Symbol.asyncDispose]();
}, BOUND_MS);

const PODS = 'kubectl get pods --all-namespaces --output wide';
const SAID =
  'kubectl -n fleetgc get events --output custom-columns=O:.involvedObject.name,M:.message --no-headers';

const whatIsThere = async (): Promise<string> => (await shell.types(PODS)) + (await shell.types(SAID));

/** Types the commands of a page that fit, in its order. */
async function follow(
  fits: RegExp,
  page: readonly string[] = COMMANDS,
  variables: Readonly<Record<string, string>> = {},
): Promise<void> {
  const found = page.filter((command) => fits.test(command));
  if (found.length === 0) throw new Error(`the page has no command like ${fits}`);
  for (const command of found) {
    typed.add(command);
    await shell.types(command, variables);
  }
}
const operators = (): Readonly<Record<string, string>> => loginOf('operators', shell, broker);
const administrator = (): Readonly<Record<string, string>> => loginOf('administrator', shell, broker);

const Settings = z.looseObject({ kafka: z.looseObject({}), node: z.looseObject({}) });

/** The settings of the page, with this broker, and a label by which a policy selects the node. */
function settings({ node, variables, ...more }: { node?: object; variables?: object } & object = {}): string {
  const { kafka, ...rest } = Settings.parse(parse(FILES.settings));
  const passwords = z.object({ kafka: z.looseObject({}) }).parse(parse(FILES.passwords));
  return stringify({
    ...rest,
    kafka: { ...kafka, ...passwords.kafka, brokers: [broker.internalAddress], replicationFactor: 1 },
    node: { ...rest.node, ...node },
    settings: { FLEETGC_NODE_LABELS: `fleetgc.io/pool=${POOL}`, ...variables },
    ...more,
  });
}

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

/** A node that fills while the policy in force only looks: it is decided what would go, and nothing goes. */
async function fillsInADryRun(): Promise<void> {
  await fillDisk(cluster.node, 60);
  await log.until('a decision of what would go', RELIEVED_MS, () =>
    decisionsOf(log, 'image-gc', NODE).some(({ outcome }) => outcome === 'dry-run'),
  );
  expect(objectResults(log, NODE)).toEqual([]);
}

/** What the page about policies in Kubernetes has somebody do until the controller runs. */
async function setUpPolicies(): Promise<void> {
  await follow(/^fleetgc keys (create|certify) /, POLICY_COMMANDS);
  await follow(/^fleetgc keys publish /, POLICY_COMMANDS, operators());
  await follow(/fleetgc-signing-policy-controllers /, POLICY_COMMANDS);
  await follow(/^fleetgc topics acls /, POLICY_COMMANDS, administrator());
  await follow(/fleetgc-kafka-policy-controllers /, POLICY_COMMANDS);
  await follow(/^helm upgrade /, POLICY_COMMANDS);
}

/** A policy comes by kubectl: what nobody uses goes until there is room, but for what it keeps, and nothing else. */
async function appliesAPolicy(images: readonly PushedImage[]): Promise<void> {
  const before = await imageIds();
  const kept = images.slice(2, 2 + KEPT);
  const object = PolicyManifest.parse(parse(POLICY_OBJECT));
  expect(object.spec).toMatchObject({ mode: 'dry-run', selector: { pools: [POOL] } });
  const keep = { images: kept.map(({ reference }) => reference) };
  const spec = { ...object.spec, mode: 'enforce', ...THRESHOLDS, keep };
  shell.writes('web.yaml', stringify({ ...object, spec }));
  await follow(/^kubectl apply -f web.yaml$/, POLICY_COMMANDS);
  await relieved();
  await endsAtTarget();
  const now = await imageIds();
  const gone = [...before].filter((id) => !now.has(id));
  expect(gone.toSorted()).toEqual(removedImages().toSorted());
  const unused = new Set(images.slice(1).map(({ id }) => id));
  expect(gone.filter((id) => !unused.has(id))).toEqual([]);
  expect(kept.filter(({ id }) => !now.has(id))).toEqual([]);
  await toldByItsStatus();
}
const KEPT = 2;
const PolicyManifest = z.looseObject({
  metadata: z.object({ name: z.literal('web') }),
  spec: z.looseObject({}),
});
const Told = z.object({ status: PolicyObjectStatus.optional() });

async function toldByItsStatus(): Promise<void> {
  const status = await log.until('the policy to say whom it selects', POD_MS, async () => {
    const told = Told.parse(JSON.parse(await shell.types('kubectl get garbagecollectionpolicy web -o json')));
    return told.status?.nodesFollowing === 1 ? told.status : null;
  });
  expect(status).toMatchObject({
    observedGeneration: 1,
    policyName: 'prod..web',
    policyVersion: 1,
    lastChangeTime: expect.stringMatching(/^\d{4}-.*Z$/),
    nodesSelected: 1,
    conditions: [
      { type: 'Accepted', status: 'True', reason: 'Valid' },
      { type: 'Ready', status: 'True', reason: 'Applied' },
    ],
  });
  expect(status.problems).toBeUndefined();
  const [get = ''] = POLICY_COMMANDS.filter((command) => /^kubectl get /.test(command));
  typed.add(get);
  expect(await shell.types(get)).toMatch(/^web +enforce +True +Applied +1 +1 /m);
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

/** `helm upgrade` while a reclaim is under way, to agent and executor in containers of their own: it cannot end before that, since no pod but the node's finds a place. */
async function upgradesInAReclaim(): Promise<void> {
  const commands = log.events('commands').length;
  const orders = log.events('observe').length;
  const removed = removedImages().length;
  const variables = { FLEETGC_LOG_LEVEL: 'debug' };
  shell.writes('fleetgc.yaml', settings({ node: { split: true }, variables, ...WITH_POLICIES }));
  await shell.types(`kubectl cordon ${NODE}`);
  const node = await shell.types(NODE_POD);
  let isUpgraded = false;
  const upgrade = follow(/^helm upgrade /).then(() => {
    isUpgraded = true;
  });
  await fillDisk(cluster.node, 64, '/disk/filler-of-the-upgrade');
  await log.until('a reclaim to begin', RELIEVED_MS, () => log.events('observe').length > orders);
  await log.until('the pod of the node to be another', POD_MS, async () => {
    const now = await shell.types(NODE_POD);
    return now !== '' && now !== node;
  });
  // An agent that has not read the policies yet leaves an order aside; it tells of the next percent at once.
  if (log.events('commands').length === commands)
    await fillDisk(cluster.node, 66, '/disk/filler-of-the-new-pod');
  await log.until('a command', RELIEVED_MS, () => log.events('commands').length > commands);
  expect(isUpgraded).toBe(false);
  await shell.types(`kubectl uncordon ${NODE}`);
  await upgrade;
  await relieved();
  await endsAtTarget();
  expect(removedImages().length).toBeGreaterThan(removed);
  expect(new Set(removedImages()).size).toBe(removedImages().length);
  expect(await level()).toBe('debug');
  expect(await shell.types(NODE_CONTAINERS)).toBe('cri-proxy node-agent node-executor');
}
const WITH_POLICIES = { policyController: { enabled: true } };
const NODE_CONTAINERS =
  'kubectl -n fleetgc get pods -l app.kubernetes.io/component=node -o jsonpath={.items[*].spec.containers[*].name}';
const NODE_POD =
  'kubectl -n fleetgc get pods -l app.kubernetes.io/component=node -o jsonpath={.items[*].metadata.name}';
const level = (): Promise<string> =>
  shell.types('kubectl -n fleetgc get configmap fleetgc -o jsonpath={.data.FLEETGC_LOG_LEVEL}');

/** What the log holds is proved again, with the roots of this fleet. */
async function verified(): Promise<void> {
  const { exitCode, stdout, stderr } = await inProcess(['audit', 'verify'], operators());
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

/** Ends the policies of this cluster, and sees that the log knows of none. */
async function takesPoliciesAway(): Promise<void> {
  await follow(/^kubectl delete garbagecollectionpolicies /, POLICY_COMMANDS);
  const [list = ''] = POLICY_COMMANDS.filter((command) => /^fleetgc policy list$/.test(command));
  typed.add(list);
  await log.until('the policy to be gone', POD_MS, async () => {
    const listed = await shell.types(list, operators());
    return listed.includes('default') && !listed.includes('prod..web');
  });
}

test('the pages, followed on a whole cluster with logins, TLS and signatures: installed, a node that fills, a policy by kubectl, upgraded in a reclaim, taken back, uninstalled', {
  timeout: BOUND_MS,
}, async () => {
  shell = await openShell(cluster.kubeconfig);
  writePasswords(shell, broker);
  log = await followFleet(brokersFor(shell, broker), whatIsThere);
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
  await shell.types(RULES_COMMAND.replace(' --dry-run', ''), administrator());
  await follow(/^cat |^kubectl create namespace |^kubectl label |^kubectl .* create secret generic /);
  await follow(/^helm install |^kubectl -n fleetgc rollout status /);

  await fillsInADryRun();
  await setUpPolicies();
  await appliesAPolicy(images);
  const installed = await left();
  await upgradesInAReclaim();
  await verified();

  await follow(/^helm rollback /);
  expect(await level()).toBe('');
  await shell.types('kubectl -n fleetgc rollout status daemonset/fleetgc-node --timeout=10m');
  expect(await shell.types(NODE_CONTAINERS)).toBe('node');
  expect(steady(await left())).toEqual(steady(installed));

  await takesPoliciesAway();
  await follow(/^helm uninstall /);
  await waitUntil(
    'nothing but what somebody made, and what the pages name, to be left',
    LEFT_MS,
    async () => {
      const now = (await left()).filter((name) => !before.includes(name));
      return now.every((name) => OWN.has(name)) || Promise.reject(new Error(now.join(' ')));
    },
  );
  expect(await left()).toContain(DEFINITION);
  await follow(/^kubectl delete crd /, POLICY_COMMANDS);
  await follow(/^kubectl delete namespace /);
  await waitUntil('nothing to be left', LEFT_MS, async () => {
    const more = (await left()).filter((name) => !before.includes(name));
    return more.length === 0 || Promise.reject(new Error(more.join(' ')));
  });
  expect(await left()).toEqual(before);
  const all = [...COMMANDS, ...POLICY_COMMANDS];
  expect(all.filter((command) => !typed.has(command) && !NOT_TYPED.test(command))).toEqual([]);
});

/** Without what another release makes anew. */
const steady = (names: readonly string[]): readonly string[] =>
  names.filter((name) => !/^(Pod|ReplicaSet|ControllerRevision|Secret)\//.test(name));

const DEFINITION = 'CustomResourceDefinition/garbagecollectionpolicies.fleetgc.io';

/** What the pages have somebody make or say that it stays, and what Kubernetes makes in each namespace. */
const OWN: ReadonlySet<string> = new Set([
  'Namespace/fleetgc',
  'Secret/fleetgc-signing-deciders',
  'Secret/fleetgc-signing-operators',
  'Secret/fleetgc-signing-policy-controllers',
  'Secret/fleetgc-kafka-nodes',
  'Secret/fleetgc-kafka-deciders',
  'Secret/fleetgc-kafka-operators',
  'Secret/fleetgc-kafka-policy-controllers',
  'ConfigMap/kube-root-ca.crt',
  'ServiceAccount/default',
  'Lease/fleetgc-policy-controller',
  DEFINITION,
  // Of the definition, by the API server.
  'APIService/v1alpha1.fleetgc.io',
]);
