import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../../support/container.ts';
import { OneCluster } from './support/one-cluster.ts';

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
  const run = cluster.run(cluster.accounts.admin);
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
