import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PAIR } from '../../fixtures/certificate.ts';
import { httpProxy, reverseProxy } from '../../support/http-proxies.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { type ClusterRun, type Kubeconfig, OneCluster } from './support/one-cluster.ts';

/** The most that there can be. */
const GOAWAY = '--goaway-chance=0.02';

let cluster: OneCluster;
beforeAll(async () => {
  cluster = await OneCluster.start({ flags: [GOAWAY], data: null, port: null });
  await cluster.accounts.account('run');
});
afterAll(() => cluster?.[Symbol.asyncDispose]());

const reached = (config: Kubeconfig, entry: object) => ({
  ...config,
  clusters: [{ name: config.clusters[0].name, cluster: entry }],
});

/** Many requests, of which each is a chance to be sent away. */
async function works(run: ClusterRun, name: string): Promise<void> {
  await cluster.ready(run);
  const kept = await cluster.family(`${name}-kept`, 2);
  const names = await cluster.family(name, 60);
  await cluster.remove(name);
  await cluster.collected(names, run);
  expect(await cluster.areThere(kept)).toEqual([true, true]);
  expect(run.said()).not.toContain('gave no answer');
  expect(await run.running.terminate()).toBe(0);
}

test('an API server that sends connections away (GOAWAY) is worked with as any other', async () => {
  await works(cluster.run(await cluster.kubeconfig((config) => config)), 'goaway');
});

test('lists, watches and deletions go through an HTTP proxy, and a load balancer that knows HTTP/1.1 alone', async () => {
  await using proxy = await httpProxy('user:password');
  const told: string[] = [];
  const { files } = cluster.server;
  const direct = await cluster.kubeconfig((config) => {
    told.push(config.clusters[0].cluster.server);
    return config;
  });
  expect(direct).not.toBe('');
  const authority = readFileSync(files.authority);
  await using balancer = await reverseProxy({ server: told[0] ?? '', authority, pair: PAIR });
  const ca = join(temporaryDirectory(), 'ca.pem');
  writeFileSync(ca, PAIR.certificate);
  const kubeconfig = await cluster.kubeconfig((config) =>
    reached(config, {
      server: `https://127.0.0.1:${balancer.port}`,
      'certificate-authority': ca,
      'proxy-url': `http://user:password@127.0.0.1:${proxy.port}`,
    }),
  );
  await works(cluster.run(kubeconfig), 'proxied');
  expect(new Set(proxy.asked)).toEqual(new Set([`CONNECT 127.0.0.1:${balancer.port}`]));
  expect(new Set(balancer.asked.map((each) => each.split(' ')[0]))).toEqual(new Set(['HTTP/1.1']));
  expect(balancer.asked).toContain('HTTP/1.1 DELETE');
});
