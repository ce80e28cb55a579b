import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApiConnection } from '../../../../packages/kube-api/connection.ts';
import { ClusterLeftovers, type LeftoverReport } from '../../../../schemas/reports/cluster-leftovers.ts';
import { inProcess } from '../../../cli/fleetgc.ts';
import { createNetwork, type TestNetwork } from '../../../support/network.ts';
import { type ApiServer, startApiServer } from '../../../support/nodes/api-server.ts';
import { ClusterAccounts } from '../../../support/nodes/cluster-account.ts';

const OLD = '2020-01-01T00:00:00Z';

let network: TestNetwork;
let server: ApiServer;
let accounts: ClusterAccounts;
let admin: ApiConnection;

beforeAll(async () => {
  network = await createNetwork();
  server = await startApiServer(network);
  accounts = new ClusterAccounts(server);
  admin = accounts.connection(accounts.admin);
});
afterAll(async () => {
  admin?.[Symbol.dispose]();
  accounts?.[Symbol.dispose]();
  await server?.[Symbol.asyncDispose]();
  await network?.[Symbol.asyncDispose]();
});

async function made(
  path: string,
  name: string,
  body: object = {},
  status: object | null = null,
): Promise<string> {
  const answer = await admin.call({
    method: 'POST',
    path,
    body: JSON.stringify({ metadata: { name }, ...body }),
  });
  expect(answer.status, answer.body).toBe(201);
  if (status !== null) {
    const patched = await admin.call({
      method: 'PATCH',
      path: `${path}/${name}/status`,
      contentType: 'application/merge-patch+json',
      body: JSON.stringify({ status }),
    });
    expect(patched.status, patched.body).toBe(200);
  }
  return JSON.parse(answer.body).metadata.uid;
}

async function leftovers(kubeconfig: string): Promise<ClusterLeftovers> {
  const { exitCode, stdout, stderr } = await inProcess([
    ...['cluster', 'leftovers', '--kubeconfig', kubeconfig, '--output', 'json'],
  ]);
  expect([exitCode, stderr]).toEqual([0, '']);
  return ClusterLeftovers.parse(JSON.parse(stdout));
}
const namesOf = ({ reports }: ClusterLeftovers, report: LeftoverReport): readonly string[] | undefined =>
  reports.find((each) => each.report === report)?.objects.map(({ name }) => name);

test('what a real API server holds is told, and what cannot be read is said', async () => {
  const volume = {
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOnce'],
    hostPath: { path: '/x' },
    persistentVolumeReclaimPolicy: 'Retain',
  };
  await made('/api/v1/persistentvolumes', 'released', { spec: volume }, { phase: 'Released' });
  await made('/api/v1/persistentvolumes', 'bound', { spec: volume }, { phase: 'Bound' });
  const ready = { type: 'Ready', status: 'Unknown', lastTransitionTime: OLD, lastHeartbeatTime: OLD };
  await made('/api/v1/nodes', 'silent', {}, { conditions: [ready] });
  await made('/apis/coordination.k8s.io/v1/namespaces/default/leases', 'expired', {
    spec: { holderIdentity: 'x', leaseDurationSeconds: 15, renewTime: '2020-01-01T00:00:00.000000Z' },
  });
  await made('/api/v1/namespaces/default/configmaps', 'young');
  const told = await leftovers(await accounts.account('agent', '--without', 'batch/CronJob'));
  expect(namesOf(told, 'released-volumes')).toEqual(['released']);
  expect(namesOf(told, 'silent-nodes')).toEqual(['silent']);
  expect(namesOf(told, 'expired-leases')).toEqual(['expired']);
  expect(namesOf(told, 'unnamed')).toEqual([]);
  expect(told.reports.filter(({ unread }) => unread.length > 0).map(({ report }) => report)).toEqual([
    'cron-job-histories',
    'unnamed',
  ]);
});
