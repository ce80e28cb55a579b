import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startProcess } from '../../../../lab/compare/sides/process.ts';
import type { ApiConnection } from '../../../../packages/kube-api/connection.ts';
import { createNetwork, type TestNetwork } from '../../../support/network.ts';
import { type ApiServer, startApiServer } from '../../../support/nodes/api-server.ts';
import { ClusterAccounts } from '../../../support/nodes/cluster-account.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { builtKubernetesProgram } from '../../../support/toolchain/kubernetes.ts';
import { waitUntil } from '../../../support/wait-until.ts';

const READY_MS = 60_000;
const COLLECTOR = 'generic-garbage-collector';

let network: TestNetwork;
let server: ApiServer;
let accounts: ClusterAccounts;
let admin: ApiConnection;
/** The account that the collector of kube-controller-manager has; the API server itself gives it its role. */
let collector: ApiConnection;

beforeAll(async () => {
  network = await createNetwork();
  server = await startApiServer(network);
  accounts = new ClusterAccounts(server);
  admin = accounts.connection(accounts.admin);
  await made('/api/v1/namespaces/kube-system/serviceaccounts', { name: COLLECTOR });
  collector = accounts.connection(await accounts.fileFor('kube-system', COLLECTOR));
});
afterAll(async () => {
  collector?.[Symbol.dispose]();
  admin?.[Symbol.dispose]();
  accounts?.[Symbol.dispose]();
  await server?.[Symbol.asyncDispose]();
  await network?.[Symbol.asyncDispose]();
});

async function made(path: string, metadata: object): Promise<void> {
  const answer = await admin.call({ method: 'POST', path, body: JSON.stringify({ metadata }) });
  expect(answer.status, answer.body).toBe(201);
}
async function denied(connection: ApiConnection, path: string): Promise<string | null> {
  const { status, body } = await connection.call({ method: 'DELETE', path: `${path}?dryRun=All` });
  if (status === 200) return null;
  expect(status, body).toBe(403);
  return JSON.parse(body).message;
}

const MAPS = '/api/v1/namespaces/default/configmaps';

test('[cluster S2, S5] the collector of the control plane cannot delete what is held by kind or kept, and all else', async () => {
  const keep = { annotations: { 'fleetgc.io/keep': 'no' } };
  await made('/api/v1/namespaces', { name: 'held' });
  await made('/api/v1/namespaces', { name: 'annotated', ...keep });
  await made('/api/v1/namespaces', { name: 'listed' });
  await made('/api/v1/namespaces/annotated/configmaps', { name: 'inside' });
  await made('/api/v1/namespaces/listed/configmaps', { name: 'inside' });
  await made('/api/v1/namespaces/default/secrets', { name: 'of-kept-kind' });
  await made(MAPS, { name: 'kept', ...keep });
  await made(MAPS, { name: 'plain' });
  const policy = join(temporaryDirectory(), 'policy.yaml');
  writeFileSync(
    policy,
    'kind: ClusterPolicy\nname: p\nmode: dry-run\nkeep: {namespaces: [listed], kinds: [Secret]}\n',
  );
  await waitUntil('the collector to have its role', READY_MS, async () => {
    return (await denied(collector, '/api/v1/namespaces/held')) === null;
  });

  await accounts.applyPrinted('guard', '--policy', policy);
  await waitUntil('the guard to hold', READY_MS, async () => {
    return (await denied(collector, '/api/v1/namespaces/held')) !== null;
  });
  expect(await denied(collector, '/api/v1/namespaces/held')).toContain('(S2)');
  for (const path of [
    `${MAPS}/kept`,
    '/api/v1/namespaces/annotated/configmaps/inside',
    '/api/v1/namespaces/listed/configmaps/inside',
    '/api/v1/namespaces/default/secrets/of-kept-kind',
  ])
    expect([path, await denied(collector, path)]).toEqual([path, expect.stringContaining('(S5)')]);
  expect(await denied(collector, `${MAPS}/plain`)).toBeNull();
  expect(await denied(admin, '/api/v1/namespaces/held')).toBeNull();
});

const COLLECTED_MS = 90_000;
const owners = [
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    name: 'nobody',
    uid: 'b1e0d0f5-8ac6-4d2f-8a53-6ef4d44aa7ff',
  },
];
const isThere = async (path: string): Promise<boolean> =>
  (await admin.call({ method: 'GET', path })).status === 200;

test('[cluster S2, S5] kube-controller-manager itself is kept from it, for as long as the guard is there', async () => {
  await accounts.applyPrinted('guard');
  await made('/api/v1/namespaces', { name: 'orphaned', ownerReferences: owners });
  await made(MAPS, { name: 'orphaned', ownerReferences: owners });
  await made(MAPS, {
    name: 'orphaned-kept',
    ownerReferences: owners,
    annotations: { 'fleetgc.io/keep': '' },
  });
  const program = join(await builtKubernetesProgram('kube-controller-manager'), 'kube-controller-manager');
  const args = [
    `--kubeconfig=${accounts.admin}`,
    ...['--controllers=garbage-collector-controller', '--leader-elect=false', '--secure-port=0'],
    '--use-service-account-credentials',
  ];
  await using _ = startProcess(program, args, { environment: {} });
  await waitUntil('the collector to delete what it may', COLLECTED_MS, async () => {
    return !(await isThere(`${MAPS}/orphaned`));
  });
  expect(await isThere('/api/v1/namespaces/orphaned')).toBe(true);
  expect(await isThere(`${MAPS}/orphaned-kept`)).toBe(true);
  const bindings = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings';
  await admin.call({ method: 'DELETE', path: `${bindings}/fleetgc-cluster-guard` });
  await waitUntil('the collector to delete what nobody guards', COLLECTED_MS, async () => {
    return !(await isThere(`${MAPS}/orphaned-kept`));
  });
});
