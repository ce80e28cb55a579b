import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApiConnection } from '../../../../packages/kube-api/connection.ts';
import { readClusterInstance } from '../../../../packages/kube-api/list.ts';
import { METADATA_FORM, type ObjectMetadata } from '../../../../packages/kube-api/metadata.ts';
import { readObject } from '../../../../packages/kube-api/read.ts';
import { pause } from '../../../../packages/process/backoff.ts';
import { createMetrics } from '../../../../packages/process/metrics.ts';
import type { ClusterAction, ClusterCommand } from '../../../../schemas/events/cluster-command.ts';
import { ClusterCommandResult, ClusterObjectResults } from '../../../../schemas/events/cluster-result.ts';
import { ClusterAgent } from '../../../../services/cluster/agent/agent.ts';
import { NO_EARLIER_FACTS } from '../../../../services/cluster/agent/earlier-facts.ts';
import { ClusterExecutor } from '../../../../services/cluster/executor/executor.ts';
import type { ResultEvent } from '../../../../services/cluster/executor/ports.ts';
import { NO_RESULTS } from '../../../../services/cluster/executor/recent-results.ts';
import { clusterPolicy, clusterPolicyRecord } from '../../../fixtures/cluster.ts';
import { createNetwork, type TestNetwork } from '../../../support/network.ts';
import { type ApiServer, startApiServer } from '../../../support/nodes/api-server.ts';
import { ClusterAccounts } from '../../../support/nodes/cluster-account.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import { type ClusterAnswer, wordsOf } from './support/executor.ts';

const KIND = { group: '', version: 'v1', kind: 'ConfigMap', resource: 'configmaps', namespaced: true };
const PATH = '/api/v1/namespaces/default/configmaps';
const DONE_MS = 30_000;
const DELETE = { action: 'delete', propagation: 'Background', unblock: false } as const;
const GONE = 'b1e0d0f5-8ac6-4d2f-8a53-6ef4d44aa7ff';

let network: TestNetwork;
let server: ApiServer;
let accounts: ClusterAccounts;
let connection: ApiConnection;
let identity: { readonly cluster: string; readonly clusterInstance: string };
let agent: ClusterAgent;
/** Reads alone, and beside an agent. */
let executors: { readonly alone: ClusterExecutor; readonly beside: ClusterExecutor };
let policy = clusterPolicy();
const results: ClusterAnswer[] = [];
const stop = new AbortController();
const running: Promise<void>[] = [];
const nowMs = (): number => performance.now();
const common = { sleep: pause, random: Math.random, nowMs, logger: pino({ level: 'silent' }) };

beforeAll(async () => {
  network = await createNetwork();
  server = await startApiServer(network);
  accounts = new ClusterAccounts(server);
  connection = accounts.connection(accounts.admin);
  const [ofAgent, ofExecutor] = [await accounts.account('agent'), await accounts.account('executor')];
  identity = { cluster: 'c1', clusterInstance: await readClusterInstance(connection) };
  const newId = (): string => crypto.randomUUID();
  agent = new ClusterAgent('c1', {
    ...common,
    connection: accounts.connection(ofAgent),
    publish: async () => undefined,
    policy: () => null,
    earlierFacts: async () => NO_EARLIER_FACTS,
    onWatchEnded: () => undefined,
    holds: () => null,
    newId,
  });
  const executor = (index: ClusterAgent | null): ClusterExecutor =>
    new ClusterExecutor({
      ...common,
      identity,
      executor: newId(),
      connection: accounts.connection(ofExecutor),
      index,
      policy: () => ({ kind: 'policy', record: clusterPolicyRecord(policy), approvals: [] }),
      localHold: () => null,
      objectionTo: () => null,
      recent: NO_RESULTS,
      publish: async (events) =>
        void results.push(
          ...events
            .map(({ event }) => event)
            .filter(isResult)
            .map(checked),
        ),
      save: async () => undefined,
      metrics: createMetrics(),
      requestsPerSecond: 50,
    });
  executors = { alone: executor(null), beside: executor(agent) };
  for (const each of [agent, executors.alone, executors.beside]) running.push(each.run(stop.signal));
});
afterAll(async () => {
  stop.abort();
  await Promise.all(running);
  accounts?.[Symbol.dispose]();
  await server?.[Symbol.asyncDispose]();
  await network?.[Symbol.asyncDispose]();
});

const isResult = (event: ResultEvent): event is ClusterAnswer =>
  event.type !== 'fleetgc.cluster.command-intent';
const checked = (event: ClusterAnswer): ClusterAnswer =>
  event.type === 'fleetgc.cluster.object-results'
    ? ClusterObjectResults.parse(event)
    : ClusterCommandResult.parse(event);

const call = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown) =>
  connection.call({
    method,
    path,
    ...(method === 'PATCH' && { contentType: 'application/merge-patch+json' }),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });

async function made(
  name: string,
  owners: readonly object[] = [],
  over: object = {},
): Promise<ObjectMetadata> {
  const metadata = { name, ownerReferences: owners, ...over };
  const answer = await call('POST', PATH, { apiVersion: 'v1', kind: 'ConfigMap', metadata });
  expect(answer.status).toBe(201);
  return live(name);
}
async function live(name: string): Promise<ObjectMetadata> {
  const found = await readObject(connection, KIND, { namespace: 'default', name }, METADATA_FORM);
  if (found.kind !== 'found') throw new Error(`${name} is ${found.kind}`);
  return found.object;
}
const isThere = async (name: string): Promise<boolean> =>
  (await readObject(connection, KIND, { namespace: 'default', name }, METADATA_FORM)).kind === 'found';
const ownerOf = ({ name, uid }: Pick<ObjectMetadata, 'name' | 'uid'>, over: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name,
  uid,
  ...over,
});
const remove = (name: string, propagationPolicy: string) =>
  call('DELETE', `${PATH}/${name}`, { propagationPolicy });
const change = (name: string, metadata: object) => call('PATCH', `${PATH}/${name}`, { metadata });

function commandFor(
  { name, uid, resourceVersion }: ObjectMetadata,
  act: ClusterAction,
  rule: string,
): ClusterCommand {
  const { hash } = clusterPolicyRecord(policy);
  const time = connection.clock.at(nowMs());
  return {
    type: 'fleetgc.cluster.command',
    version: 1,
    id: `command-${crypto.randomUUID()}`,
    ...identity,
    decisionId: 'decision-1',
    factId: 'fact-1',
    takenAt: { serverMs: time?.earliestMs ?? 0, spreadMs: 1_000 },
    lifetimeMs: 20_000,
    policy: { name: policy.name, version: 1, hash, setHash: hash },
    items: [{ object: { ...KIND, namespace: 'default', name, uid, resourceVersion }, rule, act }],
  };
}

/** What came of it, in words. */
async function carriedOut(
  by: keyof typeof executors,
  object: ObjectMetadata,
  act: ClusterAction = DELETE,
  rule = 'D14',
): Promise<string> {
  const command = commandFor(object, act, rule);
  const { id } = command;
  const position = { topic: 't', partition: 0, offset: '0', sha256: '' };
  await executors[by].commands({ event: command, position });
  await waitUntil(`the result of ${id}`, DONE_MS, async () =>
    results.some((event) => event.type === 'fleetgc.cluster.command-result' && event.commandId === id),
  );
  return wordsOf(results, id).join(', ');
}
/** The agent has seen that something is to be done about it, and this. */
const isCandidate = (uid: string, finalizers = 0): Promise<unknown> =>
  waitUntil(`a candidate ${uid}`, DONE_MS, async () => {
    const found = agent.current()?.candidate(uid);
    return found != null && found.object.finalizers.length >= finalizers;
  });

test('[cluster D14, D15] a dependent whose owner is gone goes, by reads alone and beside an agent', async () => {
  for (const by of ['alone', 'beside'] as const) {
    const owner = await made(`owner-${by}`);
    const dependent = await made(`dependent-${by}`, [ownerOf(owner)]);
    await remove(owner.name, 'Background');
    if (by === 'beside') await isCandidate(dependent.uid);
    expect(await carriedOut(by, dependent)).toBe('removed');
    expect(await isThere(dependent.name)).toBe(false);
  }
});

test('[cluster D5] an owner that is back under its name is another one', async () => {
  const owner = await made('again');
  const dependent = await made('of-again', [ownerOf(owner)]);
  await remove('again', 'Background');
  await made('again');
  expect(await carriedOut('alone', dependent)).toBe('removed');
  expect(await isThere('again')).toBe(true);
});

test('[cluster D10] an owner that is there keeps its dependent, whatever is ordered', async () => {
  const dependent = await made('held', [ownerOf(await made('holder'))]);
  expect(await carriedOut('alone', dependent)).toBe('refused owner-there');
  expect(await carriedOut('beside', dependent)).toBe('refused kept-by-own-judgement');
  expect(await isThere('held')).toBe(true);
});

test('[cluster D15] what changed since goes only if the same follows from it', async () => {
  const labelled = await made('labelled', [ownerOf({ name: 'gone', uid: GONE })]);
  await change('labelled', { labels: { changed: 'yes' } });
  expect(await carriedOut('alone', labelled)).toBe('removed');
  const adopted = await made('adopted', [ownerOf({ name: 'gone', uid: GONE })]);
  const parent = await made('parent');
  await change('adopted', { ownerReferences: [ownerOf({ name: 'gone', uid: GONE }), ownerOf(parent)] });
  expect(await carriedOut('alone', adopted)).toBe('refused changed');
  expect(await isThere('adopted')).toBe(true);
});

test('[cluster D11] a held object loses the references to owners that are gone', async () => {
  const parent = await made('solid');
  const child = await made('child', [ownerOf({ name: 'gone', uid: GONE }), ownerOf(parent)]);
  expect(await carriedOut('alone', child, { action: 'drop-references', ownerUids: [GONE] })).toBe('patched');
  expect((await live('child')).ownerReferences.map(({ uid }) => uid)).toEqual([parent.uid]);
});

test('[cluster D12, D13] a ring is unblocked and goes foreground', async () => {
  const a = await made('ring-a');
  const b = await made('ring-b', [ownerOf(a, { blockOwnerDeletion: true })]);
  await change('ring-a', { ownerReferences: [ownerOf(b, { blockOwnerDeletion: true })] });
  await remove('ring-a', 'Foreground');
  await waitUntil('the ring to be known', DONE_MS, async () => {
    return agent.current()?.candidate(b.uid)?.dependents.oneWaits === true;
  });
  const foreground = { action: 'delete', propagation: 'Foreground', unblock: true } as const;
  expect(await carriedOut('beside', b, foreground)).toBe('accepted');
  const left = await live('ring-b');
  expect(left.ownerReferences.map(({ blockOwnerDeletion }) => blockOwnerDeletion)).toEqual([false]);
  expect(left.finalizers).toEqual(['foregroundDeletion']);
});

test.each([
  ['Foreground', 'foregroundDeletion', 'D17'],
  ['Orphan', 'orphan', 'E3'],
] as const)(
  '[cluster D17, D18, E3] an owner that is deleted with %s is let go',
  async (how, finalizer, rule) => {
    for (const who of ['alone', 'beside'] as const) {
      const owner = await made(`finishing-${finalizer.toLowerCase()}-${who}`);
      const finish = { action: 'finish', finalizer } as const;
      expect(await carriedOut(who, owner, finish, rule)).toBe('refused kept-by-own-judgement');
      await remove(owner.name, how);
      await isCandidate(owner.uid, 1);
      expect(await carriedOut(who, await live(owner.name), finish, rule)).toBe('patched');
      expect(await isThere(owner.name)).toBe(false);
    }
  },
);

test('[cluster S6] alone, who is ordered to let an owner go too early does not get what it leaves', async () => {
  const owner = await made('orphaning-early');
  const dependent = await made('left-early', [ownerOf(owner)]);
  await remove(owner.name, 'Orphan');
  const finish = { action: 'finish', finalizer: 'orphan' } as const;
  expect(await carriedOut('alone', await live(owner.name), finish, 'E3')).toBe('patched');
  expect(await isThere(owner.name)).toBe(false);
  expect(await carriedOut('alone', dependent)).toBe('refused kept-by-own-judgement');
  const drop = { action: 'drop-references' as const, ownerUids: [owner.uid] };
  expect(await carriedOut('alone', dependent, drop, 'S6')).toBe('patched');
  expect((await live('left-early')).ownerReferences).toEqual([]);
});

test('[cluster S5] what lies in a namespace with the annotation stays', async () => {
  const object = await made('kept', [ownerOf({ name: 'gone', uid: GONE })]);
  const namespace = '/api/v1/namespaces/default';
  await call('PATCH', namespace, { metadata: { annotations: { 'fleetgc.io/keep': 'yes' } } });
  await pause(2_100);
  expect(await carriedOut('alone', object)).toBe('refused kept-by-policy');
  await call('PATCH', namespace, { metadata: { annotations: { 'fleetgc.io/keep': null } } });
  await waitUntil('it to go', DONE_MS, async () => (await carriedOut('alone', object)) === 'removed');
});

test('rehearsed, everything is asked for and nothing changes', async () => {
  policy = clusterPolicy({ mode: 'rehearse' });
  const object = await made('rehearsed', [ownerOf({ name: 'gone', uid: GONE })]);
  const parent = await made('rehearsed-parent');
  const child = await made('rehearsed-child', [ownerOf({ name: 'gone', uid: GONE }), ownerOf(parent)]);
  expect(await carriedOut('alone', object)).toBe('rehearsed');
  expect(await carriedOut('alone', child, { action: 'drop-references', ownerUids: [GONE] })).toBe(
    'rehearsed',
  );
  expect([await live('rehearsed'), await live('rehearsed-child')]).toEqual([object, child]);
  policy = clusterPolicy();
});

test('what the API server forbids failed, and says why', async () => {
  const object = await made('forbidden', [ownerOf({ name: 'gone', uid: GONE })]);
  const admission = '/apis/admissionregistration.k8s.io/v1';
  const rules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['DELETE'], resources: ['configmaps'] }];
  await call('POST', `${admission}/validatingadmissionpolicies`, {
    metadata: { name: 'no-deletion' },
    spec: {
      matchConstraints: { resourceRules: rules },
      validations: [{ expression: 'false', reason: 'Forbidden', message: 'not this one' }],
    },
  });
  await call('POST', `${admission}/validatingadmissionpolicybindings`, {
    metadata: { name: 'no-deletion' },
    spec: { policyName: 'no-deletion', validationActions: ['Deny'] },
  });
  await waitUntil('deletions to be forbidden', DONE_MS, async () => {
    const { status } = await call('DELETE', `${PATH}/forbidden?dryRun=All`);
    return status === 403;
  });
  expect(await carriedOut('alone', object)).toBe('failed forbidden');
  expect(await isThere('forbidden')).toBe(true);
});
