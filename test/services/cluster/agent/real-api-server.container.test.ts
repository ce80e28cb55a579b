import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApiConnection } from '../../../../packages/kube-api/connection.ts';
import { listObjects } from '../../../../packages/kube-api/list.ts';
import { METADATA_FORM } from '../../../../packages/kube-api/metadata.ts';
import { readObject } from '../../../../packages/kube-api/read.ts';
import { deleteObject, patchMetadata } from '../../../../packages/kube-api/write.ts';
import { pause } from '../../../../packages/process/backoff.ts';
import type { Ownership, OwnershipCandidate } from '../../../../schemas/events/ownership.ts';
import { ClusterAgent } from '../../../../services/cluster/agent/agent.ts';
import { NO_EARLIER_FACTS } from '../../../../services/cluster/agent/earlier-facts.ts';
import type { AgentFact } from '../../../../services/cluster/agent/ports.ts';
import { createNetwork, type TestNetwork } from '../../../support/network.ts';
import { type ApiServer, startApiServer } from '../../../support/nodes/api-server.ts';
import { ClusterAccounts } from '../../../support/nodes/cluster-account.ts';
import { waitUntil } from '../../../support/wait-until.ts';

const CONFIG_MAPS = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  resource: 'configmaps',
  namespaced: true,
};
const SEEN_MS = 20_000;
const PATH = '/api/v1/namespaces/default/configmaps';

let network: TestNetwork;
let server: ApiServer;
let accounts: ClusterAccounts;
let connection: ApiConnection;
const facts: Ownership[] = [];
const stop = new AbortController();
let ended: Promise<void> = Promise.resolve();

beforeAll(async () => {
  network = await createNetwork();
  server = await startApiServer(network);
  accounts = new ClusterAccounts(server);
  connection = accounts.connection(accounts.admin);
});
afterAll(async () => {
  stop.abort();
  await ended;
  accounts?.[Symbol.dispose]();
  await server?.[Symbol.asyncDispose]();
  await network?.[Symbol.asyncDispose]();
});

/** Resolves to the uid of the object that was made. */
async function made(
  name: string,
  owners: readonly object[] = [],
  finalizers: readonly string[] = [],
): Promise<string> {
  const metadata = { name, ownerReferences: owners, finalizers };
  const body = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata });
  const answer = await connection.call({ method: 'POST', path: PATH, body });
  expect(answer.status).toBe(201);
  return JSON.parse(answer.body).metadata.uid;
}
const remove = (name: string, propagationPolicy: string) =>
  connection.call({ method: 'DELETE', path: `${PATH}/${name}`, body: JSON.stringify({ propagationPolicy }) });
const ownerOf = (name: string, uid: string, over: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name,
  uid,
  ...over,
});

async function told(
  name: string,
  isRight: (candidate: OwnershipCandidate) => boolean,
): Promise<OwnershipCandidate> {
  let found: OwnershipCandidate | undefined;
  await waitUntil(`a candidate ${name}`, SEEN_MS, async () => {
    found = facts.flatMap(({ candidates }) => candidates).findLast(({ object }) => object.name === name);
    return found !== undefined && isRight(found);
  });
  if (found === undefined) throw new Error(`${name} was not told`);
  return found;
}
const states = ({ references }: OwnershipCandidate): string => references.map(({ state }) => state).join(' ');

test('an agent reads all that a real API server serves', async () => {
  const nowMs = (): number => performance.now();
  const parts = {
    connection: accounts.connection(await accounts.account('agent')),
    publish: async (fact: AgentFact) => {
      if (fact.type === 'fleetgc.cluster.ownership') facts.push(fact);
    },
    policy: () => null,
    earlierFacts: async () => NO_EARLIER_FACTS,
    onWatchEnded: () => undefined,
    holds: () => null,
    sleep: pause,
    random: Math.random,
    newId: () => crypto.randomUUID(),
    nowMs,
    logger: pino({ level: 'silent' }),
  };
  ended = new ClusterAgent('c1', parts).run(stop.signal);
  await made('late', [ownerOf('absent', 'b1e0d0f5-8ac6-4d2f-8a53-6ef4d44aa7ff')]);
  const late = await told('late', () => true);
  expect(states(late)).toBe('unseen');
  const [fact] = facts;
  expect(fact?.unsyncedKinds).toEqual([]);
  expect(fact?.failedGroups).toEqual([]);
  expect(fact?.totals.kinds).toBeGreaterThan(30);
});

test('[cluster C14, D15] an owner that is deleted leaves a candidate, which goes in the state that was judged alone', async () => {
  const owner = await made('owner');
  const uid = await made('dependent', [ownerOf('owner', owner)]);
  await remove('owner', 'Background');
  const { object } = await told('dependent', (each) => states(each) === 'gone');
  expect(object).toMatchObject({ uid, resource: 'configmaps', namespace: 'default' });
  const named = { namespace: 'default', name: 'dependent' };
  const judged = { uid, resourceVersion: object.resourceVersion };
  const target = { resource: CONFIG_MAPS, named, judged, rehearse: false };
  const patched = await patchMetadata(connection, target, { finalizers: [] });
  const label = JSON.stringify({ metadata: { labels: { changed: 'yes' } } });
  await connection.call({
    method: 'PATCH',
    path: `${PATH}/dependent`,
    contentType: 'application/merge-patch+json',
    body: label,
  });
  const stale = await deleteObject(connection, target, 'Background');
  const other = await deleteObject(
    connection,
    { ...target, judged: { ...judged, uid: owner } },
    'Background',
  );
  expect([patched.status, stale.status, other.status]).toEqual([200, 409, 409]);
  const now = await readObject(connection, CONFIG_MAPS, named, METADATA_FORM);
  if (now.kind !== 'found') throw new Error('the dependent is gone');
  const current = { ...target, judged: now.object };
  expect((await deleteObject(connection, { ...current, rehearse: true }, 'Background')).status).toBe(200);
  expect((await readObject(connection, CONFIG_MAPS, named, METADATA_FORM)).kind).toBe('found');
  expect((await deleteObject(connection, current, 'Background')).status).toBe(200);
  expect((await readObject(connection, CONFIG_MAPS, named, METADATA_FORM)).kind).toBe('absent');
});

test('[cluster D4, D9] what is not served is not absent', async () => {
  const named = { namespace: 'default', name: 'x' };
  const notServed = await readObject(
    connection,
    { ...CONFIG_MAPS, resource: 'others' },
    named,
    METADATA_FORM,
  );
  const noGroup = await readObject(
    connection,
    { ...CONFIG_MAPS, group: 'example.com' },
    named,
    METADATA_FORM,
  );
  expect([notServed.kind, noGroup.kind]).toEqual(['unknown', 'unknown']);
});

test('[cluster D18, E1, E3] an owner that orphans goes when its dependents have lost it', async () => {
  const owner = await made('orphaning');
  await made('child', [ownerOf('orphaning', owner)]);
  await remove('orphaning', 'Orphan');
  const child = await told('child', (each) => states(each) === 'orphaning');
  const target = (object: OwnershipCandidate['object']) => ({
    resource: CONFIG_MAPS,
    named: object,
    judged: object,
    rehearse: false,
  });
  await patchMetadata(connection, target(child.object), { ownerReferences: [] });
  const { object, dependents } = await told('orphaning', (each) => each.dependents.count === 0);
  expect([object.finalizers, dependents.count]).toEqual([['orphan'], 0]);
  await patchMetadata(connection, target(object), { finalizers: [] });
  expect((await readObject(connection, CONFIG_MAPS, object, METADATA_FORM)).kind).toBe('absent');
  expect((await readObject(connection, CONFIG_MAPS, child.object, METADATA_FORM)).kind).toBe('found');
});

test('[cluster D17, G7] an owner that waits is told when nobody blocks it', async () => {
  const owner = await made('waiting');
  await made('blocker', [ownerOf('waiting', owner, { blockOwnerDeletion: true })]);
  await remove('waiting', 'Foreground');
  expect(states(await told('blocker', (each) => states(each) === 'waiting'))).toBe('waiting');
  await remove('blocker', 'Background');
  const { object } = await told('waiting', () => true);
  expect(object.finalizers).toEqual(['foregroundDeletion']);
});

test('[cluster I8] roles whose names are longer than any that is read, or hold what a terminal reads, keep nobody from reading the others', async () => {
  const group = 'rbac.authorization.k8s.io';
  const resource = { group, version: 'v1', resource: 'roles', namespaced: true };
  const odd = 'x \u001b[2J\n\'"$(id); y';
  for (const name of ['a'.repeat(400), odd, 'of-nobody']) {
    const body = JSON.stringify({ apiVersion: `${group}/v1`, kind: 'Role', metadata: { name }, rules: [] });
    const path = `/apis/${group}/v1/namespaces/default/roles`;
    expect((await connection.call({ method: 'POST', path, body })).status).toBe(201);
  }
  const names: string[] = [];
  const outcome = await listObjects(
    connection,
    { resource, form: METADATA_FORM },
    (page) => names.push(...page.map(({ name }) => name)),
    stop.signal,
  );
  expect(outcome.kind).toBe('complete');
  expect(names).toEqual(expect.arrayContaining([odd, 'of-nobody']));
  expect(names.filter((name) => name.length > 320)).toEqual([]);
});
