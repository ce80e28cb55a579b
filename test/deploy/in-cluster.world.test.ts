import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { createNetwork } from '../support/network.ts';
import { startApiServer } from '../support/nodes/api-server.ts';
import { ClusterAccounts } from '../support/nodes/cluster-account.ts';
import { startService } from '../support/service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitUntil } from '../support/wait-until.ts';

const COLLECTED_MS = 40_000;
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

const Kubeconfig = z.object({
  clusters: z.tuple([z.object({ cluster: z.object({ 'certificate-authority-data': z.string() }) })]),
  users: z.tuple([z.object({ user: z.object({ token: z.string() }) })]),
});

/** A folder that any user may read. */
function folderWith(name: string, files: Readonly<Record<string, string | Buffer>>): string {
  const folder = join(temporaryDirectory(), name);
  mkdirSync(folder);
  chmodSync(join(folder, '..'), 0o755);
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  return folder;
}

test('in a pod, whose files and environment are those of a service account with the printed rights, cluster run collects', async () => {
  await using network = await createNetwork();
  await using server = await startApiServer(network);
  using accounts = new ClusterAccounts(server);
  using admin = accounts.connection(accounts.admin);
  const readAccount = (file: string) => {
    const { clusters, users } = Kubeconfig.parse(parse(readFileSync(file, 'utf8')));
    const authority = clusters[0].cluster['certificate-authority-data'];
    return {
      'ca.crt': Buffer.from(authority, 'base64'),
      token: users[0].user.token,
      namespace: 'kube-system',
    };
  };
  const account = folderWith('serviceaccount', readAccount(await accounts.account('run')));
  const collectors = ['garbage-collector-controller'];
  const policy = { kind: 'ClusterPolicy', name: 'clusters', mode: 'enforce', collectors };
  await using running = await startService({
    network,
    command: [
      'cluster',
      'run',
      '--cluster',
      'c1',
      '--policy',
      '/etc/fleetgc/policy.yaml',
      '--kubeconfig',
      'in-cluster',
    ],
    environment: {
      KUBERNETES_SERVICE_HOST: 'api-server',
      KUBERNETES_SERVICE_PORT: '6443',
      FLEETGC_LOG_PATH: '/var/lib/fleetgc/log.db',
    },
    mounts: {
      [SERVICE_ACCOUNT]: account,
      '/etc/fleetgc': folderWith('policy', { 'policy.yaml': stringify(policy) }),
    },
    writable: ['/var/lib/fleetgc', '/tmp'],
  });
  await running.ready();

  const make = async (name: string, ownerReferences: readonly object[] = []): Promise<string> => {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ownerReferences } };
    const { status, body } = await admin.call({
      method: 'POST',
      path: CONFIG_MAPS,
      body: JSON.stringify(object),
    });
    expect(status, body).toBe(201);
    return JSON.parse(body).metadata.uid;
  };
  const collected = async (name: string): Promise<void> => {
    const uid = await make(name);
    await make(`of-${name}`, [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid }]);
    await admin.call({ method: 'DELETE', path: `${CONFIG_MAPS}/${name}` });
    const isGone = async (): Promise<boolean> =>
      (await admin.call({ method: 'GET', path: `${CONFIG_MAPS}/of-${name}` })).status === 404;
    await waitUntil(`what ${name} owned to go`, COLLECTED_MS, isGone);
  };
  await collected('owner');
  expect(await running.output()).toContain('https://api-server:6443');
});
