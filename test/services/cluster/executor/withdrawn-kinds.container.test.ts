import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import type { ApiConnection } from '../../../../packages/kube-api/connection.ts';
import { readClusterInstance } from '../../../../packages/kube-api/list.ts';
import { jsonOf } from '../../../../packages/kube-api/status.ts';
import { pause } from '../../../../packages/process/backoff.ts';
import { createMetrics } from '../../../../packages/process/metrics.ts';
import type { ClusterCommand } from '../../../../schemas/events/cluster-command.ts';
import type { ClusterPolicy } from '../../../../schemas/policy/cluster-policy.ts';
import { ClusterAgent } from '../../../../services/cluster/agent/agent.ts';
import { NO_EARLIER_FACTS } from '../../../../services/cluster/agent/earlier-facts.ts';
import { ClusterExecutor } from '../../../../services/cluster/executor/executor.ts';
import { NO_RESULTS } from '../../../../services/cluster/executor/recent-results.ts';
import { clusterPolicy, clusterPolicyRecord } from '../../../fixtures/cluster.ts';
import { createNetwork, type TestNetwork } from '../../../support/network.ts';
import { type ApiServer, startApiServer } from '../../../support/nodes/api-server.ts';
import { ClusterAccounts } from '../../../support/nodes/cluster-account.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import { type ClusterAnswer, wordsOf } from './support/executor.ts';

const CONFIG_MAP = { group: '', version: 'v1', kind: 'ConfigMap', resource: 'configmaps', namespaced: true };
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const GADGETS = '/apis/example.com/v1/namespaces/default/gadgets';
const DONE_MS = 60_000;
const WITHDRAWN_AFTER_MS = 60_000;

const definitionOf = (plural: string, kind: string) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.example.com` },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
});
const Made = z.object({
  metadata: z.object({ name: z.string(), uid: z.string(), resourceVersion: z.string() }),
});
type Made = z.infer<typeof Made>['metadata'];

let network: TestNetwork;
let server: ApiServer;
let accounts: ClusterAccounts;
let connection: ApiConnection;
let agent: ClusterAgent;
let executor: ClusterExecutor;
let identity: { readonly cluster: string; readonly clusterInstance: string };
let profile: ClusterPolicy['profile'] = 'fleetgc';
/** The agent's clock goes ahead by so much: nobody waits until a kind counts as withdrawn. */
let aheadMs = 0;
const results: ClusterAnswer[] = [];
const stop = new AbortController();
const running: Promise<void>[] = [];
const nowMs = (): number => performance.now();
const common = { sleep: pause, random: Math.random, logger: pino({ level: 'silent' }) };

const call = (method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown) =>
  connection.call({ method, path, ...(body !== undefined && { body: JSON.stringify(body) }) });

async function made(path: string, body: object): Promise<Made> {
  let last = '';
  let object: Made | null = null;
  await waitUntil(`an object of ${path}`, DONE_MS, async () => {
    const answer = await call('POST', path, body);
    last = answer.body;
    if (answer.status !== 201) return false;
    object = Made.parse(jsonOf(answer.body)).metadata;
    return true;
  });
  if (object === null) throw new Error(last);
  return object;
}
const ownedBy = (owner: Made, name: string): Promise<Made> =>
  made(CONFIG_MAPS, {
    metadata: {
      name,
      ownerReferences: [{ apiVersion: 'example.com/v1', kind: 'Gadget', name: owner.name, uid: owner.uid }],
    },
  });
const isThere = async (name: string): Promise<boolean> =>
  (await call('GET', `${CONFIG_MAPS}/${name}`)).status === 200;
const policyNow = (): ClusterPolicy => clusterPolicy({ profile });

beforeAll(async () => {
  network = await createNetwork();
  server = await startApiServer(network);
  accounts = new ClusterAccounts(server);
  connection = accounts.connection(accounts.admin);
  // Rights are printed for the kinds that are served.
  await made(DEFINITIONS, definitionOf('gadgets', 'Gadget'));
  await made(DEFINITIONS, definitionOf('gizmos', 'Gizmo'));
  await waitUntil('Gadgets', DONE_MS, async () => (await call('GET', GADGETS)).status === 200);
  const [ofAgent, ofExecutor] = [await accounts.account('agent'), await accounts.account('executor')];
  identity = { cluster: 'c1', clusterInstance: await readClusterInstance(connection) };
  agent = new ClusterAgent('c1', {
    ...common,
    nowMs: () => nowMs() + aheadMs,
    connection: accounts.connection(ofAgent),
    publish: async () => undefined,
    policy: () => null,
    earlierFacts: async () => NO_EARLIER_FACTS,
    onWatchEnded: () => undefined,
    holds: () => null,
    newId: () => crypto.randomUUID(),
  });
  executor = new ClusterExecutor({
    ...common,
    nowMs,
    identity,
    executor: 'executor-1',
    connection: accounts.connection(ofExecutor),
    index: agent,
    policy: () => ({ kind: 'policy', record: clusterPolicyRecord(policyNow()), approvals: [] }),
    localHold: () => null,
    objectionTo: () => null,
    recent: NO_RESULTS,
    publish: async (events) => {
      for (const { event } of events)
        if (event.type !== 'fleetgc.cluster.command-intent') results.push(event);
    },
    save: async () => undefined,
    metrics: createMetrics(),
    requestsPerSecond: 50,
  });
  for (const each of [agent, executor]) running.push(each.run(stop.signal));
});
afterAll(async () => {
  stop.abort();
  await Promise.all(running);
  accounts?.[Symbol.dispose]();
  await server?.[Symbol.asyncDispose]();
  await network?.[Symbol.asyncDispose]();
});

async function ordered({ name, uid, resourceVersion }: Made): Promise<string> {
  const policy = policyNow();
  const { hash } = clusterPolicyRecord(policy);
  const command: ClusterCommand = {
    type: 'fleetgc.cluster.command',
    version: 1,
    id: `command-${crypto.randomUUID()}`,
    ...identity,
    decisionId: 'decision-1',
    factId: 'fact-1',
    takenAt: { serverMs: connection.clock.at(nowMs())?.earliestMs ?? 0, spreadMs: 1_000 },
    lifetimeMs: 20_000,
    policy: { name: policy.name, version: 1, hash, setHash: hash },
    items: [
      {
        object: { ...CONFIG_MAP, namespace: 'default', name, uid, resourceVersion },
        rule: 'D14',
        act: { action: 'delete', propagation: 'Background', unblock: false },
      },
    ],
  };
  await executor.commands({
    event: command,
    position: { topic: 't', partition: 0, offset: '0', sha256: '' },
  });
  await waitUntil(`the result of ${command.id}`, DONE_MS, async () =>
    results.some((each) => each.type === 'fleetgc.cluster.command-result' && each.commandId === command.id),
  );
  return wordsOf(results, command.id).join(', ');
}

test('[cluster S17] what a kind owned whose definition was deleted is held in profile fleetgc, and goes in profile kubernetes', async () => {
  const owner = await made(GADGETS, {
    apiVersion: 'example.com/v1',
    kind: 'Gadget',
    metadata: { name: 'g' },
  });
  const dependents = await Promise.all(['a', 'b'].map((name) => ownedBy(owner, name)));
  const [first, second] = dependents;
  if (first === undefined || second === undefined) throw new Error('two were made');
  await waitUntil('the agent to know all', DONE_MS, async () =>
    [owner, first, second].every(({ uid }) => agent.current()?.object(uid) !== undefined),
  );
  await call('DELETE', `${DEFINITIONS}/gadgets.example.com`);
  await waitUntil(
    'Gadgets to be served no more',
    DONE_MS,
    async () => (await call('GET', GADGETS)).status === 404,
  );
  expect(agent.current()?.isGoneWithItsKind(owner.uid) ?? false).toBe(false);
  profile = 'kubernetes';
  expect(await ordered(first)).toMatch(/^refused/);

  await waitUntil(
    'the agent to see that',
    DONE_MS,
    async () => agent.current()?.object(owner.uid) === undefined,
  );
  aheadMs += WITHDRAWN_AFTER_MS;
  await waitUntil(
    'the kind to be withdrawn',
    DONE_MS,
    async () => agent.current()?.isGoneWithItsKind(owner.uid) === true,
  );
  profile = 'fleetgc';
  expect(await ordered(first)).toBe('refused not-approved');
  profile = 'kubernetes';
  expect(await ordered(first)).toBe('removed');
  expect([await isThere('a'), await isThere('b')]).toEqual([false, true]);

  await made(DEFINITIONS, definitionOf('gadgets', 'Gadget'));
  await waitUntil(
    'the agent to see the definition',
    DONE_MS,
    async () => agent.current()?.isGoneWithItsKind(owner.uid) === false,
  );
});
