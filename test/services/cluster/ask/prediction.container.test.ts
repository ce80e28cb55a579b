import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import type { ApiConnection } from '../../../../packages/kube-api/connection.ts';
import { Propagation } from '../../../../schemas/events/cluster-command.ts';
import { ClusterCascade } from '../../../../schemas/reports/cluster-cascade.ts';
import { ClusterPlan } from '../../../../schemas/reports/cluster-plan.ts';
import { inProcess } from '../../../cli/fleetgc.ts';
import { spawnVerb } from '../../../cli/service-process.ts';
import { createNetwork, type TestNetwork } from '../../../support/network.ts';
import { type ApiServer, startApiServer } from '../../../support/nodes/api-server.ts';
import { ClusterAccounts } from '../../../support/nodes/cluster-account.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { waitUntil } from '../../../support/wait-until.ts';

const PATH = '/api/v1/namespaces/default/configmaps';
const DONE_MS = 60_000;

let network: TestNetwork;
let server: ApiServer;
let accounts: ClusterAccounts;
let admin: ApiConnection;
/** Reads, and changes nothing. */
let reader: string;

beforeAll(async () => {
  network = await createNetwork();
  server = await startApiServer(network);
  accounts = new ClusterAccounts(server);
  admin = accounts.connection(accounts.admin);
  reader = await accounts.account('agent');
});
afterAll(async () => {
  admin?.[Symbol.dispose]();
  accounts?.[Symbol.dispose]();
  await server?.[Symbol.asyncDispose]();
  await network?.[Symbol.asyncDispose]();
});

interface Owner {
  readonly name: string;
  readonly uid: string;
  readonly blockOwnerDeletion?: boolean;
}
async function made(name: string, owners: readonly Owner[] = [], metadata: object = {}): Promise<Owner> {
  const ownerReferences = owners.map((owner) => ({ apiVersion: 'v1', kind: 'ConfigMap', ...owner }));
  const body = JSON.stringify({ metadata: { name, ownerReferences, ...metadata } });
  const answer = await admin.call({ method: 'POST', path: PATH, body });
  expect(answer.status, answer.body).toBe(201);
  return { name, uid: JSON.parse(answer.body).metadata.uid };
}

/** Deployment, ReplicaSet and Pods, as it were: one Pod is stuck, one is shared, one is kept. */
async function family(of: string): Promise<void> {
  const deployment = await made(`${of}-deployment`);
  const set = await made(`${of}-set`, [{ ...deployment, blockOwnerDeletion: true }]);
  const owned = [{ ...set, blockOwnerDeletion: true }];
  await made(`${of}-pod`, owned);
  await made(`${of}-stuck`, owned, { finalizers: ['example.com/x'] });
  await made(`${of}-shared`, [set, await made(`${of}-other`)]);
  await made(`${of}-kept`, owned, { annotations: { 'fleetgc.io/keep': '' } });
}

function policyFile(): string {
  const file = join(temporaryDirectory(), 'policy.yaml');
  const ours = 'collectors: [garbage-collector-controller]';
  writeFileSync(file, `kind: ClusterPolicy\nname: p\nmode: enforce\n${ours}\n`);
  return file;
}

async function asked(...args: readonly string[]): Promise<unknown> {
  const ended = await inProcess([
    ...args,
    '--kubeconfig',
    reader,
    '--policy',
    policyFile(),
    '--output',
    'json',
  ]);
  expect([ended.exitCode, ended.stderr]).toEqual([0, '']);
  return JSON.parse(ended.stdout);
}

const Listed = z.object({
  items: z.array(
    z.object({
      metadata: z.object({
        name: z.string(),
        deletionTimestamp: z.string().optional(),
        ownerReferences: z.array(z.unknown()).default([]),
      }),
    }),
  ),
});

/** What there is of each object. */
async function states(): Promise<ReadonlyMap<string, string>> {
  const { body } = await admin.call({ method: 'GET', path: PATH });
  return new Map(
    Listed.parse(JSON.parse(body)).items.map(({ metadata: { name, deletionTimestamp, ownerReferences } }) => [
      name,
      deletionTimestamp === undefined ? `there, ${ownerReferences.length} owners` : 'waits',
    ]),
  );
}

test('[cluster D10, D11, D14, D17, E1, E3, S5] what cascade tells is what happens, in each mode', async () => {
  for (const mode of Propagation.options) await family(mode.toLowerCase());
  const before = await states();
  const predicted = new Map<string, string>();
  for (const mode of Propagation.options) {
    const cascade = ClusterCascade.parse(
      await asked('cascade', `configmap/${mode.toLowerCase()}-deployment`),
    );
    const objects = cascade.modes.find(({ propagation }) => propagation === mode)?.objects ?? [];
    expect(objects).toHaveLength(6);
    for (const { name, fate } of objects) predicted.set(name, fate);
  }
  expect(await states()).toEqual(before);
  const running = spawnVerb(
    ...['cluster', 'run', '--cluster', 'c1', '--kubeconfig', await accounts.account('run')],
    ...['--policy', policyFile(), '--log-path', join(temporaryDirectory(), 'log.db')],
  );
  for (const mode of Propagation.options) {
    const path = `${PATH}/${mode.toLowerCase()}-deployment`;
    await admin.call({ method: 'DELETE', path, body: JSON.stringify({ propagationPolicy: mode }) });
  }
  const happened = async (): Promise<Map<string, string>> => {
    const now = await states();
    return new Map([...predicted.keys()].map((name) => [name, fateOf(before.get(name), now.get(name))]));
  };
  await waitUntil('what was told to happen', DONE_MS, async () =>
    [...(await happened())].every(([name, fate]) => predicted.get(name) === fate),
  );
  expect(await happened()).toEqual(predicted);
  expect([...new Set(predicted.values())].toSorted()).toEqual(['goes', 'loses-references', 'stays', 'waits']);
  expect(await running.terminate()).toBe(0);
});

function fateOf(before: string | undefined, now: string | undefined): string {
  if (now === undefined) return 'goes';
  if (now === 'waits') return 'waits';
  return now === before ? 'stays' : 'loses-references';
}

test('[cluster D14] what plan tells is what is left over, with the waves in which it would go', async () => {
  const nobody = { name: 'nobody', uid: 'b1e0d0f5-8ac6-4d2f-8a53-6ef4d44aa7ff' };
  await made('grandchild', [await made('child', [nobody])]);
  const plan = ClusterPlan.parse(await asked('cluster', 'plan'));
  const objects = plan.collectors.flatMap((each) => each.objects);
  const told = objects.map(({ name, action, rule, wave }) => `${name} ${action} ${rule} ${wave}`);
  expect(told).toContain('child delete D14 1');
  expect(told).toContain('grandchild delete D14 2');
  expect(plan.unreadKinds).toEqual([]);
  expect((await states()).get('child')).toBe('there, 1 owners');
});
