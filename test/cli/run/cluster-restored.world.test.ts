import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../support/container.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { type ClusterRun, OneCluster } from './support/one-cluster.ts';

/** From a restore until it is seen. */
const SEEN_MS = 60_000;

let cluster: OneCluster;
let directory: string;
let data: string;
let snapshot: string;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'fleetgc-restored-'));
  data = join(directory, 'data');
  snapshot = join(directory, 'snapshot');
  mkdirSync(data);
  cluster = await OneCluster.start({ flags: [], data, port: await freePort() });
});
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

const replace = (from: string, to: string): void => {
  rmSync(to, { recursive: true, force: true });
  cpSync(from, to, { recursive: true });
};
/** Only while nobody writes it. */
const save = (): Promise<void> => cluster.server.restart(async () => replace(data, snapshot));
const restore = (): Promise<void> =>
  cluster.server.restart(async () => replace(join(snapshot, 'member'), join(data, 'member')));

const noticed = ({ said }: ClusterRun) =>
  waitUntil('the restore to be told', SEEN_MS, () => said().includes('it was restored')).catch((cause) => {
    throw new Error(`${cause}\n${said().slice(-6_000)}`, { cause });
  });

/** What an agent that does not know of the restore would have deleted. */
const holdsDangling = ({ said }: ClusterRun) =>
  waitUntil('what dangles to be held', SEEN_MS, () =>
    /graph-gc holds 2 ConfigMap \(default\/dangling-0/.test(said()),
  );

test('[cluster S3] scenario 11: an etcd that is restored from an older snapshot is noticed, and nothing that came back goes, over a restart too', async () => {
  const returned = await cluster.family('returned', 3);
  await cluster.family('dangling', 2);
  const kubeconfig = await cluster.accounts.account('run');
  const run = cluster.run(kubeconfig);
  await cluster.ready(run);
  await save();
  await cluster.remove('returned');
  await cluster.collected(returned, run);
  const lost = await cluster.family('lost', 30);
  await cluster.ready(run);

  await restore();
  expect(await cluster.areThere(['returned', ...returned])).toEqual([true, true, true, true]);
  expect(await cluster.areThere(['lost', ...lost.slice(0, 1)])).toEqual([false, false]);
  await noticed(run);
  await cluster.remove('dangling');
  await holdsDangling(run);
  await run.running.kill();
  const next = cluster.runOn(run.logPath, kubeconfig);
  await holdsDangling(next);
  expect(await cluster.areThere(['returned', ...returned, 'dangling-0', 'dangling-1'])).toEqual(
    Array.from({ length: 6 }, () => true),
  );
  expect(await next.running.terminate()).toBe(0);
});
