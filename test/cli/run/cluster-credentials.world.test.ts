import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { renewClient } from '../../support/kafka/tls-files.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { type ClusterRun, type Kubeconfig, OneCluster } from './support/one-cluster.ts';

const REFUSED_MS = 40_000;
const V1 = 'client.authentication.k8s.io/v1';

let cluster: OneCluster;
beforeAll(async () => {
  cluster = await OneCluster.start();
  await cluster.accounts.account('run');
});
afterAll(() => cluster?.[Symbol.asyncDispose]());

const userOf = (config: Kubeconfig, user: object) => ({ ...config, users: [{ ...config.users[0], user }] });

/** A text that somebody replaces as one does it well: at once. */
function replaced(file: string, text: string): void {
  writeFileSync(`${file}.new`, text, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** The account is made anew under its name, so no token of the one before is known. */
async function revoked(): Promise<void> {
  const path = '/api/v1/namespaces/kube-system/serviceaccounts';
  const name = 'fleetgc-cluster-run';
  await cluster.connection.call({ method: 'DELETE', path: `${path}/${name}` });
  const body = JSON.stringify({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } });
  await cluster.connection.call({ method: 'POST', path, body });
}

async function newToken(): Promise<string> {
  let token = '';
  await cluster.kubeconfig((config, told) => {
    token = told;
    return config;
  });
  return token;
}

const refused = ({ said }: ClusterRun) =>
  waitUntil('a 401 to be told', REFUSED_MS, () => said().includes('status 401'));

/** Nothing goes while the API server does not know us, and all of what was due goes when it does again. */
async function outlasts(run: ClusterRun, name: string, cure: () => void | Promise<void>): Promise<void> {
  const names = await cluster.family(name, 3);
  const kept = await cluster.family(`${name}-kept`, 1);
  await refused(run);
  await cluster.remove(name);
  const wanted = `graph-gc wants to delete 3 ConfigMap (default/${name}-0`;
  await waitUntil('it to be ordered', REFUSED_MS, () => run.said().includes(wanted));
  expect(await cluster.areThere([...names, ...kept])).toEqual([true, true, true, true]);
  await cure();
  await cluster.collected(names, run);
  expect(await cluster.areThere(kept)).toEqual([true]);
  expect(await run.running.terminate()).toBe(0);
  const told = JSON.stringify(await cluster.eventsOf(run, 'clusterDecisions'));
  for (const each of kept) expect(told).not.toContain(`"${each}"`);
}

test('[cluster D4] a token that is revoked stops all work, and the next one in its file lets it go on', async () => {
  const tokenFile = join(temporaryDirectory(), 'token');
  const kubeconfig = await cluster.kubeconfig((config, token) => {
    replaced(tokenFile, token);
    return userOf(config, { tokenFile });
  });
  const run = cluster.run(kubeconfig);
  await cluster.ready(run);
  await revoked();
  await outlasts(run, 'token', async () => replaced(tokenFile, await newToken()));
});

test('[cluster D4] an exec plugin is asked again when its token is revoked', async () => {
  const directory = temporaryDirectory();
  const tokenFile = join(directory, 'token');
  const plugin = join(directory, 'plugin');
  const answer = `{"kind":"ExecCredential","apiVersion":"${V1}","status":{"token":"%s"}}`;
  writeFileSync(plugin, `#!/bin/sh\nprintf '${answer}' "$(cat ${tokenFile})"\n`, { mode: 0o700 });
  const exec = { apiVersion: V1, interactiveMode: 'IfAvailable', command: plugin, provideClusterInfo: true };
  const kubeconfig = await cluster.kubeconfig((config, token) => {
    replaced(tokenFile, token);
    return userOf(config, { exec });
  });
  const run = cluster.run(kubeconfig);
  await cluster.ready(run);
  const names = await cluster.family('exec-first', 2);
  await cluster.remove('exec-first');
  await cluster.collected(names, run);
  await revoked();
  await outlasts(run, 'exec', async () => replaced(tokenFile, await newToken()));
});

test('[cluster D4] a client certificate that ends stops all work, and the next one in its files lets it go on', async () => {
  const { files } = cluster.server;
  await renewClient(files.directory, 60);
  const role = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'fleetgc-cluster-run' };
  const client = { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'client' };
  const path = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
  const body = {
    kind: 'ClusterRoleBinding',
    metadata: { name: 'client' },
    roleRef: role,
    subjects: [client],
  };
  await cluster.connection.call({ method: 'POST', path, body: JSON.stringify(body) });
  const user = {
    'client-certificate': join(files.directory, 'client.pem'),
    'client-key': join(files.directory, 'client.key'),
  };
  const run = cluster.run(await cluster.kubeconfig((config) => userOf(config, user)));
  await outlasts(run, 'certificate', () => renewClient(files.directory, 86_400));
});
