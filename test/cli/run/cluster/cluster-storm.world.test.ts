import { afterAll, beforeAll, expect, test } from 'vitest';
import { proxiedServer } from '../../../e2e/support/cluster/proxied-server.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import { OneCluster } from './support/one-cluster.ts';

const STORM_MS = 60_000;
const FLOW_CONTROL = '/apis/flowcontrol.apiserver.k8s.io/v1';
const OBJECTS = '/api/v1/namespaces/default/configmaps';
/** So often in a row the account is refused before it is said to be refused whatever it asks. */
const REFUSALS = 20;

let cluster: OneCluster;
let account: string;
beforeAll(async () => {
  cluster = await OneCluster.start();
  account = await cluster.accounts.account('run');
});
afterAll(() => cluster?.[Symbol.asyncDispose]());

const LEVEL = {
  kind: 'PriorityLevelConfiguration',
  spec: {
    type: 'Limited',
    limited: {
      nominalConcurrencyShares: 0,
      lendablePercent: 0,
      borrowingLimitPercent: 0,
      limitResponse: { type: 'Reject' },
    },
  },
};
const serviceAccount = { name: 'fleetgc-cluster-run', namespace: 'kube-system' };
const SCHEMA = {
  kind: 'FlowSchema',
  spec: {
    priorityLevelConfiguration: { name: 'storm' },
    matchingPrecedence: 2,
    rules: [
      {
        subjects: [{ kind: 'ServiceAccount', serviceAccount }],
        resourceRules: [
          { verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] },
        ],
        nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
      },
    ],
  },
};

async function called(method: 'POST' | 'DELETE', path: string, body: object): Promise<void> {
  const answer = await cluster.connection.call({ method, path, body: JSON.stringify(body) });
  expect(answer.status, answer.body).toBeLessThan(300);
}

/** Priority and Fairness of the API server refuses whatever the account asks, with 429 and Retry-After, until this is called. */
async function storm(): Promise<() => Promise<void>> {
  for (const { kind, spec } of [LEVEL, SCHEMA])
    await called('POST', `${FLOW_CONTROL}/${kind.toLowerCase()}s`, {
      apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
      kind,
      metadata: { name: 'storm' },
      spec,
    });
  using connection = cluster.accounts.connection(account);
  const isRefused = async () => (await connection.call({ method: 'GET', path: OBJECTS })).status === 429;
  await waitUntil('each request to be refused', STORM_MS, async () => {
    for (let left = REFUSALS; left > 0; left--) if (!(await isRefused())) return false;
    return true;
  });
  return () => called('DELETE', `${FLOW_CONTROL}/flowschemas/storm`, {});
}

/** So many requests of the account were refused. */
async function rejected(): Promise<number> {
  const { body } = await cluster.connection.call({ method: 'GET', path: '/metrics', accept: 'text/plain' });
  const counts = body.matchAll(
    /^apiserver_flowcontrol_rejected_requests_total\{[^}]*flow_schema="storm"[^}]*\} (\S+)$/gm,
  );
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

test('[cluster F4] a storm of 429 in which watches break too: nothing goes, and afterwards what should', async () => {
  await using way = await proxiedServer(cluster.server.localKubeconfig);
  const kubeconfig = await cluster.kubeconfig((config) => ({
    ...config,
    clusters: [
      { name: config.clusters[0].name, cluster: { ...config.clusters[0].cluster, server: way.address } },
    ],
  }));
  const run = cluster.run(kubeconfig, '--log-level', 'warn');
  await cluster.ready(run);
  const kept = await cluster.family('storm-kept', 2);
  const names = await cluster.family('storm', 20);
  const calm = await storm();
  const before = await rejected();
  way.close();
  way.open();
  await cluster.remove('storm');
  await waitUntil('FleetGC to ask again and again', STORM_MS, async () => (await rejected()) > before + 100);
  expect(await cluster.areThere(names)).toEqual(names.map(() => true));
  await calm();
  await cluster.collected(names, run);
  expect(await cluster.areThere(kept)).toEqual([true, true]);
  expect(run.said()).not.toContain('restored');
  expect(await run.running.terminate()).toBe(0);
});
