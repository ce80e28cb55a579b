import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningProcess, startProcess } from '../../lab/compare/sides/process.ts';
import { textOf } from '../deploy/files.ts';
import { createNetwork, type TestNetwork } from '../support/network.ts';
import { type ApiServer, startApiServer } from '../support/nodes/api-server.ts';
import { ClusterAccounts } from '../support/nodes/cluster-account.ts';
import { builtKubernetesProgram } from '../support/toolchain/kubernetes.ts';
import { waitUntil } from '../support/wait-until.ts';
import { commandsOf } from './clusters/commands.ts';
import { type LeftRunning, type Newcomer, startNewcomer } from './clusters/newcomer.ts';
import { codeBlocks } from './markdown.ts';

const BOUND_MS = 90_000;
const ADMIN_TOKEN = 'test-token';
const page = textOf('docs/operating/clusters.md');
const [policy = ''] = codeBlocks(page, 'yaml');
const onPage = commandsOf(page);
/** What a fleet on Kafka needs: other tests follow it. */
const OF_A_FLEET = /--kafka-brokers|--namespace fleetgc|deploy\/helm/;

let network: TestNetwork;
let server: ApiServer;
let accounts: ClusterAccounts;
let newcomer: Newcomer;
const followed = new Set<string>();

beforeAll(async () => {
  network = await createNetwork();
  server = await startApiServer(network);
  accounts = new ClusterAccounts(server);
});
afterAll(async () => {
  accounts?.[Symbol.dispose]();
  await server?.[Symbol.asyncDispose]();
  await network?.[Symbol.asyncDispose]();
});

/** The command of the page that begins like this. */
function command(beginning: string): string {
  const found = onPage.filter((each) => each.startsWith(beginning));
  if (found.length !== 1)
    throw new Error(`the page has ${found.length} commands that begin with ${beginning}`);
  const [one = ''] = found;
  followed.add(one);
  return one;
}
const follow = (beginning: string): Promise<string> => newcomer.types(command(beginning));

/** All of a code block, from the line that begins like this. */
function block(beginning: string, lines: number): string {
  const start = onPage.findIndex((each) => each.startsWith(beginning));
  const found = onPage.slice(start, start + lines);
  for (const each of found) followed.add(each);
  return found.join('\n');
}

/** kube-controller-manager as kubeadm starts it: each controller is an account of its own. */
async function startControllerManager(controllers: string): Promise<RunningProcess> {
  const program = join(await builtKubernetesProgram('kube-controller-manager'), 'kube-controller-manager');
  return startProcess(
    program,
    [
      `--kubeconfig=${accounts.admin}`,
      ...[controllers, '--leader-elect=false', '--secure-port=0', '--use-service-account-credentials'],
    ],
    { environment: {} },
  );
}

/** What the page says to start kube-controller-manager with, where FleetGC takes its place. */
function documentedControllers(): string {
  const [, controllers = 'none'] = /^ *kube-controller-manager (--controllers=\*\S+)$/m.exec(page) ?? [];
  const collectors = [...policy.matchAll(/^ {2}- (\S+)$/gm)].map(([, name]) => `-${name}`);
  expect(controllers).toBe(`--controllers=*,${collectors.join(',')}`);
  return controllers;
}

const uidOf = (object: string): Promise<string> =>
  newcomer.types(`kubectl get ${object} --ignore-not-found -o jsonpath={.metadata.uid}`);
const goes = (object: string): Promise<unknown> =>
  waitUntil(`${object} to go`, BOUND_MS, async () => (await uidOf(object)) === '');
const comes = (object: string): Promise<string> =>
  waitUntil(`${object} to come`, BOUND_MS, async () => await uidOf(object));
const says = (running: LeftRunning, text: string): Promise<unknown> =>
  waitUntil(`cluster run to say ${text}`, BOUND_MS, () => running.said().includes(text));

/** A Deployment in the namespace shop, with its ReplicaSet and two Pods. */
async function deploy(name: string): Promise<void> {
  await newcomer.types(
    `kubectl -n shop create deployment ${name} --image=registry.example/${name}:1 --replicas=2`,
  );
  await waitUntil(`two pods of ${name}`, BOUND_MS, async () => {
    const pods = await newcomer.types(`kubectl -n shop get pods -l app=${name} -o name`);
    return pods.split('\n').filter((line) => line !== '').length === 2;
  });
}
const leftOf = async (name: string): Promise<string> =>
  (await newcomer.types(`kubectl -n shop get replicasets,pods -l app=${name} -o name`)).trim();
const allGone = (name: string): Promise<unknown> =>
  waitUntil(`all of ${name} to go`, BOUND_MS, async () => (await leftOf(name)) === '');

const LOG = '--log embedded --log-path /var/lib/fleetgc/cluster-prod.db';
const LATE_JOB = `kubectl -n shop create -f - <<'MANIFEST'
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:
  completions: 0
  ttlSecondsAfterFinished: 1
  template: {spec: {restartPolicy: Never, containers: [{name: main, image: registry.example/once:1}]}}
MANIFEST`;
const OWNED_NAMESPACE = `kubectl create -f - <<'MANIFEST'
apiVersion: v1
kind: Namespace
metadata:
  name: owned
  ownerReferences:
    - {apiVersion: storage.k8s.io/v1, kind: StorageClass, name: gone, uid: b1e0d0f5-8ac6-4d2f-8a53-6ef4d44aa7ff}
MANIFEST`;

const ownedConfigMap = (uid: string): string => `kubectl -n shop create -f - <<'MANIFEST'
apiVersion: v1
kind: ConfigMap
metadata:
  name: web
  ownerReferences:
    - {apiVersion: apps/v1, kind: Deployment, name: background, uid: ${uid}}
data: {colour: blue}
MANIFEST`;

/** The first steps: an account, its kubeconfig, what would be done, and a dry run. */
async function besideIt({ file, types, leavesRunning }: Newcomer): Promise<void> {
  await using _ = await startControllerManager('--controllers=*');
  writeFileSync(file('clusters.yaml'), policy);
  await types('kubectl create namespace shop');
  await comes('-n shop serviceaccount/default');
  await deploy('web');
  await follow('fleetgc cluster rbac --kubeconfig');
  await types(block('umask 077', 7));
  expect(readFileSync(file('fleetgc.kubeconfig'), 'utf8')).not.toContain(ADMIN_TOKEN);
  expect(await follow('fleetgc cluster plan')).toContain(
    'garbage-collector-controller: nothing is to be done',
  );
  const cascade = await follow('fleetgc cascade');
  expect(cascade).toContain('--cascade=background: 4 objects of 4 would go');
  expect(cascade).toContain('--cascade=orphan: 1 object of 4 would go');
  const run = leavesRunning(command('fleetgc cluster run'));
  await says(run, 'Policy clusters: dry-run. Nothing will be removed.');
  await types('kubectl -n shop delete deployment web');
  await allGone('web');
  await types(OWNED_NAMESPACE);
  await goes('namespace/owned');
  expect(await run.interrupt()).toBe(0);
  expect(run.said()).not.toContain('deleted');
}

/** Its collectors switched off, and the policy in force. */
async function inItsPlace({ file, types, leavesRunning }: Newcomer): Promise<void> {
  await using _ = await startControllerManager(documentedControllers());
  writeFileSync(file('clusters.yaml'), `${policy.replace('dry-run', 'enforce')}undo: manifest\n`);
  await types(command('fleetgc cluster rbac --kubeconfig'));
  for (const name of ['background', 'foreground', 'orphan']) await deploy(name);
  await types(ownedConfigMap(await uidOf('-n shop deployment/background')));
  const run = leavesRunning(command('fleetgc cluster run'));
  await says(run, 'What it allows will be removed.');
  for (const cascade of ['background', 'foreground', 'orphan'])
    await types(`kubectl -n shop delete deployment ${cascade} --cascade=${cascade} --wait=false`);
  await allGone('background');
  await allGone('foreground');
  for (const name of ['foreground', 'orphan']) await goes(`-n shop deployment/${name}`);
  await goes('-n shop configmap/web');
  await types(block('fleetgc undo', 2));
  expect(await types('kubectl -n shop get configmap web -o jsonpath={.data.colour}')).toBe('blue');
  expect((await leftOf('orphan')).split('\n')).toHaveLength(3);
  await types(LATE_JOB);
  await goes('-n shop job/once');
  await types(OWNED_NAMESPACE);
  await says(run, 'graph-gc holds');
  await theHeldOneGoes(newcomer, run);
  // The agent tells how the cluster stands a little after it went.
  await waitUntil('the report to name nothing more', BOUND_MS, async () =>
    (await follow('fleetgc cluster report')).includes('Nothing waits, and no reference leads nowhere.'),
  );
  await waitUntil('the status to say that nothing is held', BOUND_MS, async () =>
    /^prod +\S+ ago +clusters +enforce +0 /m.test(await types(`fleetgc status ${LOG}`)),
  );
  expect(await types(`fleetgc audit verify ${LOG}`)).toMatch(/^Every decision came out the same again/);
  expect(await types(`fleetgc audit explain Namespace/owned ${LOG}`)).toContain('deleted by FleetGC');
  expect(await types('fleetgc cluster leftovers --kubeconfig ~/.kube/config')).toContain(
    'FleetGC deletes nothing',
  );
  expect(await run.interrupt()).toBe(0);
}

/** What `held` prints is typed, and then what the failure asks for. */
async function theHeldOneGoes({ types }: Newcomer, run: LeftRunning): Promise<void> {
  const held = await follow('fleetgc held');
  const [approve = 'the page shows no command that approves'] = /fleetgc approve [^\n]*/.exec(held) ?? [];
  expect(await types(approve)).toContain(
    'approved: objects of kind Namespace: owned in cluster prod, 1 object',
  );
  await says(run, 'forbidden');
  await types('kubectl create clusterrole approved --verb=delete --resource=namespaces');
  await types(
    'kubectl create clusterrolebinding approved --clusterrole=approved --serviceaccount=kube-system:fleetgc-cluster-run',
  );
  await goes('namespace/owned');
}

test('the page, followed beside kube-controller-manager and in its place', async () => {
  newcomer = await startNewcomer(server);
  await besideIt(newcomer);
  await inItsPlace(newcomer);
  await follow('fleetgc cluster guard');
  expect(onPage.filter((each) => !followed.has(each) && !OF_A_FLEET.test(each))).toEqual([]);
});
