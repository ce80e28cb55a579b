import { copyFileSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../support/container.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { OneCluster } from './support/one-cluster.ts';

/** From a refused connection until it is told. */
const TOLD_MS = 9_000;

let cluster: OneCluster;
let directory: string;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'fleetgc-restarted-'));
  const data = join(directory, 'data');
  mkdirSync(data);
  cluster = await OneCluster.start({ flags: [], data, port: await freePort() });
});
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

test('an API server that is started again is followed on, and what went meanwhile is collected', async () => {
  const run = cluster.run(await cluster.accounts.account('run'));
  await cluster.ready(run);
  const kept = await cluster.family('restarted-kept', 2);
  const names = await cluster.family('restarted', 2);
  await cluster.server.restart();
  await cluster.remove('restarted');
  await cluster.collected(names, run);
  expect(await cluster.areThere(kept)).toEqual([true, true]);
  expect(run.said()).not.toContain('restored');
  expect(await run.running.terminate()).toBe(0);
});

test('[cluster D4] an API server whose certificate another authority signed is not believed, until the file says that it is', async () => {
  const authority = join(temporaryDirectory(), 'ca.pem');
  copyFileSync(cluster.server.files.authority, authority);
  await cluster.accounts.account('run');
  const kubeconfig = await cluster.kubeconfig((config) => {
    const [{ name, cluster: entry }] = config.clusters;
    const believes = { server: entry.server, 'certificate-authority': authority };
    return { ...config, clusters: [{ name, cluster: believes }] };
  });
  const run = cluster.run(kubeconfig);
  await cluster.ready(run);
  const kept = await cluster.family('believed-kept', 2);
  const names = await cluster.family('believed', 2);
  const next = await cluster.server.changeAuthority();
  cluster.connectAnew();
  await cluster.remove('believed');
  await waitUntil('it to be told', TOLD_MS, () => /certificate/.test(run.said())).catch((cause) => {
    throw new Error(`${cause}\n${run.said().slice(-4_000)}`, { cause });
  });
  expect(await cluster.areThere(names)).toEqual([true, true]);
  copyFileSync(next, `${authority}.next`);
  renameSync(`${authority}.next`, authority);
  await cluster.collected(names, run);
  expect(await cluster.areThere(kept)).toEqual([true, true]);
  expect(await run.running.terminate()).toBe(0);
});
