import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApiConnection } from '../../../../packages/kube-api/connection.ts';
import { DoctorReport } from '../../../../schemas/reports/doctor.ts';
import { KubernetesReceiver } from '../../../../services/notices/kubernetes.ts';
import type { Notice } from '../../../../services/notices/notices.ts';
import { ownLog } from '../../../cli/fleetgc.ts';
import { createNetwork, type TestNetwork } from '../../../support/network.ts';
import { type ApiServer, startApiServer } from '../../../support/nodes/api-server.ts';
import { ClusterAccounts } from '../../../support/nodes/cluster-account.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import { messageOf, noticeOf } from '../../notices/support/notice-of.ts';
import { allowedOf, NEVER } from './account-rights.ts';

const READY_MS = 60_000;
const MAPS = '/api/v1/namespaces/default/configmaps';
const PODS = '/api/v1/namespaces/default/pods';

let network: TestNetwork;
let server: ApiServer;
let accounts: ClusterAccounts;
let admin: ApiConnection;
/** With what `cluster rbac` prints by default. */
let executor: ApiConnection;

beforeAll(async () => {
  network = await createNetwork();
  server = await startApiServer(network);
  accounts = new ClusterAccounts(server);
  admin = accounts.connection(accounts.admin);
  executor = accounts.connection(await accounts.accountByDefault('executor'));
  await made('probe');
  let turn = 0;
  await waitUntil('the limits of the account to hold', READY_MS, async () => {
    turn += 1;
    // A value of its own each time: a patch that changes nothing is allowed, and one may pass before the limits hold.
    return (await patch(executor, 'probe', { labels: { turn: `${turn}` } })) === 403;
  });
});
afterAll(async () => {
  executor?.[Symbol.dispose]();
  admin?.[Symbol.dispose]();
  accounts?.[Symbol.dispose]();
  await server?.[Symbol.asyncDispose]();
  await network?.[Symbol.asyncDispose]();
});

async function made(name: string, metadata: object = {}, path = MAPS, rest: object = {}): Promise<string> {
  const kind = path === PODS ? 'Pod' : 'ConfigMap';
  const body = JSON.stringify({ apiVersion: 'v1', kind, metadata: { name, ...metadata }, ...rest });
  const answer = await admin.call({ method: 'POST', path, body });
  expect(answer.status, answer.body).toBe(201);
  return JSON.parse(answer.body).metadata.uid;
}

const send = async (connection: ApiConnection, path: string, body: object): Promise<number> => {
  const { status } = await connection.call({
    method: 'PATCH',
    path,
    contentType: 'application/merge-patch+json',
    body: JSON.stringify(body),
  });
  return status;
};
const patch = (connection: ApiConnection, name: string, metadata: object): Promise<number> =>
  send(connection, `${MAPS}/${name}`, { metadata });

const ownerOf = (uid: string, over: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name: 'owner',
  uid,
  ...over,
});

test('doctor cluster says of this account which rights it has, and which it lacks for something else', async () => {
  const { run } = await ownLog();
  const policy = join(temporaryDirectory(), 'policy.yaml');
  const collectors = '[garbage-collector-controller]';
  writeFileSync(policy, `kind: ClusterPolicy\nname: all\nmode: enforce\ncollectors: ${collectors}\n`);
  expect((await run('policy', 'apply', policy)).exitCode).toBe(0);
  const file = await accounts.fileFor('kube-system', 'fleetgc-cluster-executor');
  const looked = async (part: string) => {
    const given = ['--cluster', 'prod', '--kubeconfig', file, '--part', part, '-o', 'json'];
    const { exitCode, stdout } = await run('doctor', 'cluster', ...given);
    const { checks } = DoctorReport.parse(JSON.parse(stdout));
    return { exitCode, of: (id: string) => checks.find((check) => check.id === id) };
  };

  const executing = await looked('executor');
  expect(executing.exitCode, JSON.stringify(executing.of('api-rights'))).toBe(0);
  for (const id of ['api-server', 'api-version', 'api-rights', 'api-clock', 'policy'])
    expect(executing.of(id), id).toMatchObject({ outcome: 'ok' });
  expect(executing.of('lease')).toMatchObject({ outcome: 'warning' });

  const reading = await looked('agent');
  expect(reading.exitCode).toBe(1);
  expect(reading.of('api-rights')).toMatchObject({
    outcome: 'problem',
    seen: expect.stringMatching(/are missing.*(list|watch) /),
    todo: expect.stringContaining('cluster rbac --part agent'),
  });
});

test('[cluster D11, D12, D18] the account takes references and the two finalizers away', async () => {
  const owner = await made('owner');
  const blocking = ownerOf(owner, { blockOwnerDeletion: true });
  await made('dependent', { ownerReferences: [blocking], finalizers: ['foregroundDeletion'] });
  const free = [ownerOf(owner, { blockOwnerDeletion: false })];
  expect(await patch(executor, 'dependent', { ownerReferences: free })).toBe(200);
  expect(await patch(executor, 'dependent', { ownerReferences: [] })).toBe(200);
  expect(await patch(executor, 'dependent', { finalizers: [] })).toBe(200);
  await made('orphaning', { finalizers: ['orphan'] });
  expect(await patch(executor, 'orphaning', { finalizers: [] })).toBe(200);
});

test('the account writes nothing else, whatever its role says', async () => {
  const owner = await made('another-owner');
  await made('other', { ownerReferences: [ownerOf(owner)], finalizers: ['example.com/mine'] });
  const refused: readonly object[] = [
    { metadata: { labels: { a: 'b' } } },
    { metadata: { annotations: { 'fleetgc.io/keep': 'yes' } } },
    { data: { a: 'b' } },
    { metadata: { finalizers: [] } },
    { metadata: { finalizers: ['example.com/mine', 'orphan'] } },
    { metadata: { ownerReferences: [ownerOf(owner), ownerOf('b1e0d0f5-8ac6-4d2f-8a53-6ef4d44aa7ff')] } },
  ];
  for (const body of refused)
    expect([body, await send(executor, `${MAPS}/other`, body)]).toEqual([body, 403]);
  expect(await patch(admin, 'other', { labels: { a: 'b' } })).toBe(200);
  const create = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'new' } });
  expect((await executor.call({ method: 'POST', path: MAPS, body: create })).status).toBe(403);
});

test('of a pod the account writes conditions, phase and observed generation, and it runs nothing in one', async () => {
  const containers = [{ name: 'c', image: 'registry.example/c:1' }];
  await made('pod', {}, PODS, { spec: { containers } });
  const conditions = [{ type: 'DisruptionTarget', status: 'True', reason: 'DeletionByPodGC' }];
  const status = (change: object): Promise<number> =>
    send(executor, `${PODS}/pod/status`, { status: change });
  expect(await status({ phase: 'Failed', observedGeneration: 1, conditions })).toBe(200);
  expect(await status({ podIP: '10.0.0.1' })).toBe(403);
  expect(await status({ message: 'x', conditions: [] })).toBe(403);
  expect(await send(executor, `${PODS}/pod`, { metadata: { labels: { a: 'b' } } })).toBe(403);
  const path = `${PODS}/pod/exec?command=sh&container=c&stdout=true`;
  expect((await executor.call({ method: 'GET', path })).status).toBe(403);
});

test('[cluster S2] what is held by its kind cannot be deleted, and all else can', async () => {
  await made('goes');
  expect((await executor.call({ method: 'DELETE', path: `${MAPS}/goes` })).status).toBe(200);
  const namespace = JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'held' } });
  await admin.call({ method: 'POST', path: '/api/v1/namespaces', body: namespace });
  expect((await executor.call({ method: 'DELETE', path: '/api/v1/namespaces/held' })).status).toBe(403);
});

test('[cluster D11, S2] references of what the account may not delete stay as they are: admission refuses to change them', async () => {
  const gone = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    name: 'gone',
    uid: 'b1e0d0f5-8ac6-4d2f-8a53-6ef4d44aa7ff',
  };
  const metadata = { name: 'owned', ownerReferences: [gone] };
  const path = '/api/v1/namespaces/owned';
  await admin.call({ method: 'POST', path: '/api/v1/namespaces', body: JSON.stringify({ metadata }) });
  const { status, body } = await executor.call({
    method: 'PATCH',
    path,
    contentType: 'application/merge-patch+json',
    body: JSON.stringify({ metadata: { ownerReferences: [] } }),
  });
  // Its role would let it: it is OwnerReferencesPermissionEnforcement that asks whether it may delete the object.
  expect([status, JSON.parse(body).message]).toEqual([
    403,
    expect.stringContaining("cannot set an ownerRef on a resource you can't delete"),
  ]);
  const live = await admin.call({ method: 'GET', path });
  expect(JSON.parse(live.body).metadata.ownerReferences).toHaveLength(1);
});

test('replicas take turns by the Lease of their account, and may touch no other', async () => {
  const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';
  const make = (connection: ApiConnection, name: string) => {
    const body = JSON.stringify({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name } });
    return connection.call({ method: 'POST', path: leases, body });
  };
  const own = 'fleetgc-cluster-executor';
  const held = { spec: { holderIdentity: 'a' } };
  expect((await make(executor, own)).status).toBe(201);
  expect(await send(executor, `${leases}/${own}`, held)).toBe(200);
  expect((await make(executor, 'another')).status).toBe(403);
  await make(admin, 'another');
  expect(await send(executor, `${leases}/another`, held)).toBe(403);
});

test('who takes over an account of a cluster can lift no limit, become nobody else and read no Secret', async () => {
  using agent = accounts.connection(await accounts.accountByDefault('agent'));
  using whole = accounts.connection(await accounts.accountByDefault('run'));
  for (const connection of [executor, agent, whole]) expect(await allowedOf(connection, NEVER)).toEqual([]);
  // What it is for, it can: delete and read objects, list and watch them.
  const rights = ['get /configmaps', 'delete /configmaps', 'list /configmaps', 'patch /configmaps'];
  expect(await allowedOf(executor, rights)).toEqual(rights.filter((right) => right !== 'list /configmaps'));
  expect(await allowedOf(agent, rights)).toEqual(['list /configmaps']);
});

test('the limits of an account stay there, and a Secret is for those who ask for it by name', async () => {
  const bindings = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings';
  expect(
    (await executor.call({ method: 'DELETE', path: `${bindings}/fleetgc-cluster-executor` })).status,
  ).toBe(403);
  using agent = accounts.connection(await accounts.accountByDefault('agent'));
  const status = async (resource: string) =>
    (await agent.call({ method: 'GET', path: `/api/v1/${resource}` })).status;
  expect([await status('configmaps'), await status('secrets')]).toEqual([200, 403]);
  await accounts.accountByDefault('agent', '--with', 'Secret');
  await waitUntil('the right that was asked for', READY_MS, async () => (await status('secrets')) === 200);
});

describe('with what notify rbac prints', () => {
  const EVENTS = '/api/v1/namespaces/default/events';
  const noticed = (number: number, over: Partial<Notice> = {}): Notice =>
    noticeOf(number, { kind: 'unrelieved', reason: 'FreeDiskSpaceFailed', node: 'node-1', ...over });
  let connection: ApiConnection;

  beforeAll(async () => {
    await accounts.applyOutput('notify', 'rbac');
    connection = accounts.connection(await accounts.fileFor('kube-system', 'fleetgc-notify'));
  });
  afterAll(() => connection?.[Symbol.dispose]());

  test('Events on a node are written, counted, and known when they come again', async () => {
    const signal = new AbortController().signal;
    const receiver = new KubernetesReceiver({ connection, monotonicNow: () => 0 });
    const first = messageOf([noticed(1, { text: 'node-1 is "full" <b>\\' })]);
    await waitUntil('the account to have its rights', READY_MS, async () => {
      const sent = await receiver.send(first, signal);
      return sent.kind === 'delivered';
    });
    expect(await receiver.send(messageOf([noticed(2), noticed(3)]), signal)).toEqual({ kind: 'delivered' });
    const again = new KubernetesReceiver({ connection, monotonicNow: () => 0 });
    expect(await again.send(first, signal)).toEqual({ kind: 'delivered' });
    const { body } = await admin.call({
      method: 'GET',
      path: `${EVENTS}?fieldSelector=${encodeURIComponent('involvedObject.kind=Node,involvedObject.name=node-1')}`,
    });
    expect(JSON.parse(body).items).toMatchObject([
      {
        reason: 'FreeDiskSpaceFailed',
        type: 'Warning',
        count: 3,
        message: 'prod/web-1: notice 3',
        involvedObject: { kind: 'Node', name: 'node-1', uid: 'node-1' },
        source: { component: 'fleetgc-notify', host: 'node-1' },
      },
    ]);
  });

  test('nothing else is allowed', async () => {
    for (const path of [EVENTS, '/api/v1/nodes', '/api/v1/namespaces/default/pods'])
      expect((await connection.call({ method: 'GET', path })).status).toBe(403);
    const body = JSON.stringify({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'a' },
      involvedObject: {},
    });
    const elsewhere = { method: 'POST', path: '/api/v1/namespaces/kube-system/events', body } as const;
    expect((await connection.call(elsewhere)).status).toBe(403);
    expect((await connection.call({ method: 'DELETE', path: `${EVENTS}/a` })).status).toBe(403);
  });
});
