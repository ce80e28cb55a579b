import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { ApiConnection } from '../../../../packages/kube-api/connection.ts';
import { readClusterInstance } from '../../../../packages/kube-api/list.ts';
import { refusalText } from '../../../../packages/kube-api/status.ts';
import { createLogger } from '../../../../packages/process/logger.ts';
import { createMetrics } from '../../../../packages/process/metrics.ts';
import { systemSources } from '../../../../packages/process/system-sources.ts';
import { PolicyFile } from '../../../../schemas/policy/policy-file.ts';
import { PolicyObjectStatus } from '../../../../schemas/policy/policy-object.ts';
import { selectPolicy } from '../../../../schemas/policy/policy-selection.ts';
import { PolicyController } from '../../../../services/cluster/policy-controller/main.ts';
import { POLICY_FORM, writtenPolicy } from '../../../../services/cluster/policy-controller/written-policy.ts';
import { logLines } from '../../../support/log-lines.ts';
import { createNetwork, type TestNetwork } from '../../../support/network.ts';
import { type ApiServer, startApiServer } from '../../../support/nodes/api-server.ts';
import { ClusterAccounts } from '../../../support/nodes/cluster-account.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import { controllerManifests } from './support/chart-manifests.ts';
import { GuardedLog } from './support/guarded-log.ts';

const PATH = '/apis/fleetgc.io/v1alpha1/garbagecollectionpolicies';
const DONE_MS = 20_000;
const A = { cluster: 'a', clusterInstance: 'i' };

let network: TestNetwork;
let server: ApiServer;
let accounts: ClusterAccounts;
/** May do everything. */
let admin: ApiConnection;
beforeAll(async () => {
  network = await createNetwork();
  server = await startApiServer(network);
  accounts = new ClusterAccounts(server);
  admin = accounts.connection(accounts.admin);
  await server.apply(await controllerManifests());
  await waitUntil('the kind to be served', DONE_MS, async () => (await call('GET', PATH)).status === 200);
});
afterAll(async () => {
  admin?.[Symbol.dispose]();
  accounts?.[Symbol.dispose]();
  await server?.[Symbol.asyncDispose]();
  await network?.[Symbol.asyncDispose]();
});

const call = (
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  path: string,
  body?: object,
  contentType?: string,
) =>
  admin.call({
    method,
    path,
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(contentType !== undefined && { contentType }),
  });

const object = (name: string, spec: object) => ({
  apiVersion: 'fleetgc.io/v1alpha1',
  kind: 'GarbageCollectionPolicy',
  metadata: { name },
  spec,
});

/** As its spec says it in a file. */
const inFile = (spec: object): boolean => PolicyFile.safeParse({ name: 'a', ...spec }).success;

describe('what the API server says of an object', () => {
  const tried = (spec: object, name = 'tried') =>
    call('POST', `${PATH}?dryRun=All&fieldValidation=Strict`, object(name, spec));

  test.each<{ spec: Record<string, unknown>; told: string }>([
    { spec: {}, told: 'spec.mode: Required value' },
    { spec: { mode: 'none' }, told: 'supported values: "dry-run", "enforce"' },
    { spec: { imageGCHighThresholdPercent: 101 }, told: 'should be less than or equal to 100' },
    { spec: { imageGCHighThresholdPercent: 70 }, told: '80 by default) must be below' },
    { spec: { imageGCLowThresholdPercent: 90 }, told: '85 by default)' },
    { spec: { imageGCLowThresholdPercent: 60, imageGCHighThresholdPercent: 60 }, told: 'must be below' },
    {
      spec: { imageGCInodesLowThresholdPercent: 60, imageGCInodesHighThresholdPercent: 60 },
      told: 'imageGCInodesLowThresholdPercent must be below imageGCInodesHighThresholdPercent',
    },
    { spec: { imageGCInodesLowThresholdPercent: 60 }, told: 'mean nothing without each other' },
    { spec: { imageGCStartBelowAvailable: '1Gi' }, told: 'mean nothing without each other' },
    {
      spec: { imageGCStartBelowAvailable: '2Gi', imageGCUntilAvailable: '2048Mi' },
      told: 'imageGCUntilAvailable must be above imageGCStartBelowAvailable',
    },
    { spec: { imageGCStartBelowAvailable: '2Go', imageGCUntilAvailable: '3Gi' }, told: 'should match' },
    { spec: { evictionSoft: { 'nodefs.available': '10%' } }, told: 'needs a grace period' },
    {
      spec: {
        evictionSoft: { 'imagefs.available': '10%' },
        evictionSoftGracePeriod: { 'imagefs.available': '2h' },
      },
      told: 'must be at most 1h58m',
    },
    { spec: { imageMaximumGCAge: '7d' }, told: 'should match' },
    { spec: { imageMaximumGCAge: '-1h' }, told: 'imageMaximumGCAge must not be negative' },
    { spec: { minimumContainerTTLDuration: '-1s' }, told: 'must not be negative' },
    { spec: { maximumDeadContainerAge: '0s' }, told: 'must be above 0s' },
    { spec: { commandLifetime: '20m' }, told: 'commandLifetime must be from 1s to 10m' },
    { spec: { profile: 'kubelet', maximumDeadContainerAge: '1h' }, told: 'no part of profile: kubelet' },
    { spec: { profile: 'kubelet', imageMaximumGCAge: '1m' }, told: 'must be longer than imageMinimumGCAge' },
    { spec: { keep: { namespaces: ['kube-*'] } }, told: 'should match' },
    { spec: { selector: { nodeNames: [] } }, told: 'should have at least 1 items' },
  ])('refuses what a file refuses, and says why: $told', async ({ spec, told }) => {
    const whole = Object.keys(spec).length === 0 ? spec : { mode: 'enforce', ...spec };
    const answer = await tried(whole);
    expect([answer.status, refusalText(answer)]).toEqual([422, expect.stringContaining(told)]);
    expect(inFile(whole)).toBe(false);
  });

  test.each<{ spec: Record<string, unknown> }>([
    { spec: {} },
    { spec: { selector: {}, keep: {}, evictionHard: {} } },
    { spec: { imageGCHighThresholdPercent: 81 } },
    { spec: { imageGCLowThresholdPercent: 0, imageGCHighThresholdPercent: 1 } },
    { spec: { imageGCStartBelowAvailable: '1e9', imageGCUntilAvailable: '1.5G' } },
    { spec: { imageGCInodesLowThresholdPercent: 1, imageGCInodesHighThresholdPercent: 2 } },
    {
      spec: {
        evictionSoft: { 'imagefs.available': '10%' },
        evictionSoftGracePeriod: { 'imagefs.available': '1h58m' },
      },
    },
    { spec: { imageMinimumGCAge: '-1h', imageMaximumGCAge: '0', commandLifetime: '1s' } },
    { spec: { profile: 'kubelet', imageMaximumGCAge: '121s' } },
    { spec: { profile: 'kubelet', imageMinimumGCAge: '0s', imageMaximumGCAge: '2m0.5s' } },
    { spec: { keep: { images: ['registry/**'], labels: { a: 'b' }, lastVersions: 3, unpullable: false } } },
  ])('takes what a file takes: $spec', async ({ spec }) => {
    const whole = { mode: 'enforce', ...spec };
    const answer = await tried(whole);
    expect([answer.status, answer.body.slice(0, 600)]).toEqual([201, expect.anything()]);
    expect(inFile(whole)).toBe(true);
  });

  test('refuses names that no policy can have, and a priority that comes before those of the fleet', async () => {
    for (const name of ['a.b', 'x'.repeat(61)])
      expect(refusalText(await tried({ mode: 'enforce' }, name))).toContain(
        'metadata.name must be at most 60',
      );
    expect(refusalText(await tried({ mode: 'enforce', priority: -999 }))).toContain(
      'less than or equal to -1000',
    );
  });

  test.each<{ spec: Record<string, unknown> }>([
    { spec: { selector: null } },
    { spec: { selector: { nodeNames: null } } },
    { spec: { selector: { nodeLabels: null } } },
    { spec: { keep: null } },
    { spec: { keep: { images: null } } },
    { spec: { imageMinimumGCAge: null } },
    { spec: { imageGCLowThresholdPercent: null } },
    { spec: { evictionHard: null } },
    { spec: { evictionHard: { 'nodefs.available': null } } },
  ])('what a template left empty is refused by one of both: $spec', async ({ spec }) => {
    const whole = { mode: 'enforce', ...spec };
    const { status, body } = await tried(whole);
    expect([201, 422]).toContain(status);
    const read = status === 201 ? POLICY_FORM.read(JSON.parse(body)) : null;
    if (read !== null) expect(writtenPolicy(read, A)).toMatchObject({ kind: 'invalid' });
    expect(inFile(whole)).toBe(false);
  });

  test('cuts nothing away that it does not know: a misspelt condition is for the controller to refuse', async () => {
    const { body } = await tried({ mode: 'enforce', selector: { nodeName: ['a'] }, keeep: {} });
    expect(JSON.parse(body).spec).toEqual({ mode: 'enforce', selector: { nodeName: ['a'] }, keeep: {} });
  });

  test('kubectl get has a column for what people ask', async () => {
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    const { body } = await admin.call({ method: 'GET', path: PATH, accept });
    const { columnDefinitions } = z
      .object({ columnDefinitions: z.array(z.object({ name: z.string(), priority: z.int() })) })
      .parse(JSON.parse(body));
    const shown = columnDefinitions.filter(({ priority }) => priority === 0).map(({ name }) => name);
    expect(shown).toEqual(['Name', 'Mode', 'Ready', 'Reason', 'Selected', 'Following', 'Changed', 'Age']);
  });
});

test('an object becomes a policy that nodes of its cluster follow, with no more rights than those of the chart; what is deleted is gone', async () => {
  const guarded = await GuardedLog.open();
  await guarded.hear('a', 'web-1');
  await guarded.hear('b', 'web-1');
  const key = await guarded.controllerKey('a');
  const node = await guarded.follow();
  using connection = accounts.connection(await accounts.fileFor('fleetgc', 'fleetgc-policy-controller'));
  const logged = logLines();
  const followed = await guarded.follow();
  const controller = new PolicyController({
    identity: { cluster: 'a', clusterInstance: await readClusterInstance(connection) },
    connection,
    policies: { ...guarded.policies(key), followed: followed.current.node },
    log: guarded.log,
    countNodesEveryMs: 300_000,
    sources: systemSources,
    metrics: createMetrics(),
    logger: createLogger({ service: 'test', level: 'info' }, logged),
  });
  const holdsFor = (cluster: string): string | null => {
    const selection = selectPolicy(node.current.node(), { cluster, node: 'web-1', nodeLabels: {} });
    return selection.kind === 'policy'
      ? `${selection.record.policy.name} ${selection.record.policy.mode}`
      : null;
  };
  const stop = new AbortController();
  const running = controller.run(stop.signal);
  try {
    const made = await call(
      'POST',
      PATH,
      object('web', { mode: 'dry-run', selector: { nodeNames: ['web-*'] } }),
    );
    expect(made.status, made.body).toBe(201);
    await waitUntil('the node to follow it', DONE_MS, () => holdsFor('a') === 'a..web dry-run');
    expect(holdsFor('b')).toBeNull();
    await waitUntil('the object to say so', DONE_MS, async () => (await status('web'))?.nodesFollowing === 1);
    expect(await status('web')).toMatchObject({
      observedGeneration: 1,
      policyName: 'a..web',
      policyVersion: 1,
      nodesSelected: 1,
      conditions: [
        { type: 'Accepted', status: 'True', reason: 'Valid' },
        { type: 'Ready', status: 'True', reason: 'Applied' },
      ],
    });
    const merge = 'application/merge-patch+json';
    await call('PATCH', `${PATH}/web`, { spec: { mode: 'enforce' } }, merge);
    await waitUntil('the change to hold', DONE_MS, () => holdsFor('a') === 'a..web enforce');
    await waitUntil(
      'the change to be told',
      DONE_MS,
      async () => (await status('web'))?.observedGeneration === 2,
    );
    await call('PATCH', `${PATH}/web`, { spec: { selector: { nodeNmes: ['x'] } } }, merge);
    await waitUntil('the mistake to be told', DONE_MS, async () =>
      ((await status('web'))?.problems ?? []).join().includes('did you mean selector.nodeNames?'),
    );
    expect(holdsFor('a')).toBe('a..web enforce');
    await call('DELETE', `${PATH}/web`);
    await waitUntil('the policy to be gone', DONE_MS, () => holdsFor('a') === null);
    expect(controller.problem()).toBeNull();
    expect(logged.lines.join('\n')).not.toMatch(/"level":"(warn|error)"/);
  } finally {
    stop.abort();
    await running;
  }
});

async function status(name: string): Promise<PolicyObjectStatus | null> {
  const { body } = await call('GET', `${PATH}/${name}`);
  const { data } = z.object({ status: PolicyObjectStatus }).safeParse(JSON.parse(body));
  return data?.status ?? null;
}
