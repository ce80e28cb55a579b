import { renameSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { startApiServer } from '../../../lab/sim/api-server/api-server.ts';
import { Deeds, type Owner, SimulatedCluster } from '../../../lab/sim/api-server/cluster.ts';
import { CONFIG_MAP } from '../../../lab/sim/api-server/objects.ts';
import { systemSources } from '../../../packages/process/system-sources.ts';
import { listening, passOn } from '../../support/http-proxies.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { type RunningVerb, startVerb } from '../service-process.ts';

const TOKEN = 'behind-the-gateway';
const COLLECTED_MS = 40_000;
const V1 = 'client.authentication.k8s.io/v1';

/** A simulated cluster behind a gateway that can have enough of requests, and knows its clients by a token of its own. */
async function troubled() {
  const { now, newId, wait } = systemSources;
  const simulated = new SimulatedCluster({ now, newId });
  const api = await startApiServer({ cluster: simulated, token: TOKEN, wait });
  onTestFinished(() => api[Symbol.asyncDispose]());
  const state = { token: 'one', isStorm: false };
  const refusals: number[] = [];
  const watches = new Set<ServerResponse>();
  const refuse = (response: ServerResponse, status: number, headers: object = {}): void => {
    refusals.push(status);
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(
      JSON.stringify({ kind: 'Status', code: status, reason: 'Refused', message: `says ${status}` }),
    );
  };
  const gateway = await listening(
    createServer((request, response) => {
      if (request.headers.authorization !== `Bearer ${state.token}`) return refuse(response, 401);
      if (state.isStorm) return refuse(response, 429, { 'retry-after': '1' });
      if (request.url?.includes('watch=true') === true) watches.add(response);
      const headers = { ...request.headers, authorization: `Bearer ${TOKEN}` };
      return passOn(request, response, { server: api.url, headers });
    }),
  );
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  const deeds = new Deeds(simulated);
  const named = (name: string) => ({ kind: CONFIG_MAP, name: { namespace: 'default', name } });
  return {
    state,
    refusals,
    url: `http://127.0.0.1:${gateway.port}`,
    /** All that is open ends. */
    cut: () => {
      for (const watch of watches) watch.destroy();
      watches.clear();
    },
    family: (name: string, dependents: number): readonly Owner[] => {
      const owner = deeds.create(named(name));
      return Array.from({ length: dependents }, (_, at) =>
        deeds.create({ ...named(`${name}-${at}`), owner }),
      );
    },
    remove: (name: string) => deeds.delete(named(name), 'Background'),
    there: (owners: readonly Owner[]) => owners.filter((each) => deeds.isThere(each)).length,
  };
}
type Troubled = Awaited<ReturnType<typeof troubled>>;

function started(server: string, user: object): RunningVerb {
  const directory = temporaryDirectory();
  const kubeconfig = join(directory, 'kubeconfig');
  const policy = join(directory, 'policy.yaml');
  const config = {
    clusters: [{ name: 'c', cluster: { server } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  const collectors = ['garbage-collector-controller'];
  writeFileSync(kubeconfig, stringify(config));
  writeFileSync(policy, stringify({ kind: 'ClusterPolicy', name: 'clusters', mode: 'enforce', collectors }));
  return startVerb(
    ...['cluster', 'run', '--cluster', 'c1', '--kubeconfig', kubeconfig, '--policy', policy],
    ...['--log-path', join(directory, 'log.db')],
  );
}

async function collects({ family, remove, there }: Troubled, name: string): Promise<void> {
  const owners = family(name, 3);
  remove(name);
  await waitUntil(`${name} to be collected`, COLLECTED_MS, () => there(owners) === 0);
}

function replaced(file: string, text: string): void {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}

const count = (refusals: readonly number[], status: number): number =>
  refusals.filter((each) => each === status).length;

test('[cluster F4] a storm of 429 that breaks all watches deletes nothing, ends nothing, and is sat out', async () => {
  const cluster = await troubled();
  const run = started(cluster.url, { token: 'one' });
  await collects(cluster, 'before');
  const kept = cluster.family('kept', 2);
  const owners = cluster.family('stormy', 20);
  cluster.state.isStorm = true;
  cluster.cut();
  cluster.remove('stormy');
  await waitUntil('each kind to ask again', COLLECTED_MS, () => count(cluster.refusals, 429) > 25);
  expect(cluster.there(owners)).toBe(20);
  cluster.state.isStorm = false;
  await waitUntil('the dependents to go', COLLECTED_MS, () => cluster.there(owners) === 0);
  expect(cluster.there(kept)).toBe(2);
  expect(run.output.stderr).not.toMatch(/restored|cannot be read/);
  expect(await run.terminate()).toBe(0);
});

test.each<[string, (tokenFile: string) => object]>([
  ['a token file', (tokenFile) => ({ tokenFile })],
  [
    'an exec plugin',
    (tokenFile) => ({
      exec: {
        apiVersion: V1,
        interactiveMode: 'Never',
        command: '/bin/sh',
        args: [
          '-c',
          `printf '{"kind":"ExecCredential","apiVersion":"${V1}","status":{"token":"%s"}}' "$(cat ${tokenFile})"`,
        ],
      },
    }),
  ],
])(
  '[cluster D4] with %s a token that is revoked while all watches break deletes nothing, and the next one is taken',
  async (_, userBy) => {
    const cluster = await troubled();
    const tokenFile = join(temporaryDirectory(), 'token');
    replaced(tokenFile, 'one');
    const run = started(cluster.url, userBy(tokenFile));
    await collects(cluster, 'before');
    const kept = cluster.family('kept', 2);
    const owners = cluster.family('revoked', 3);
    cluster.state.token = 'two';
    cluster.cut();
    cluster.remove('revoked');
    await waitUntil('the refusals', COLLECTED_MS, () => count(cluster.refusals, 401) > 12);
    expect(cluster.there(owners)).toBe(3);
    replaced(tokenFile, 'two');
    await waitUntil('the dependents to go', COLLECTED_MS, () => cluster.there(owners) === 0);
    expect(cluster.there(kept)).toBe(2);
    expect(run.output.stderr).not.toMatch(/restored|cannot be read/);
    expect(await run.terminate()).toBe(0);
  },
);
