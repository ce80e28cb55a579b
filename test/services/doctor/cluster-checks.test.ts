import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { directConnection } from '../../../lab/sim/api-server/api-server.ts';
import { SimulatedCluster } from '../../../lab/sim/api-server/cluster.ts';
import { policySet } from '../../../packages/decision/policy-set.ts';
import type { ApiAnswer, ApiConnection } from '../../../packages/kube-api/connection.ts';
import { pause } from '../../../packages/process/backoff.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import type { ClusterPolicyRecord } from '../../../schemas/policy/cluster-policy.ts';
import type { Part } from '../../../services/cluster/access/rights.ts';
import { looked, runChecks } from '../../../services/doctor/checks.ts';
import { CLUSTER_CHECKS, lookAtCluster, rightsOfRules } from '../../../services/doctor/cluster.ts';
import {
  agentFinding,
  apiClockFinding,
  serverVersionFinding,
} from '../../../services/doctor/cluster-findings.ts';
import type { lookAtLog } from '../../../services/doctor/log.ts';
import { clusterPolicyRecord } from '../../fixtures/cluster.ts';
import { MINUTE, NOW, SECOND } from '../../fixtures/time.ts';

const Asked = z.object({
  spec: z.object({
    resourceAttributes: z.record(z.string(), z.string()).optional(),
    nonResourceAttributes: z.record(z.string(), z.string()).optional(),
  }),
});
type Asked = z.infer<typeof Asked>['spec'];

interface World {
  readonly part: Part;
  readonly leaseNamespace: string | null;
  /** What the account may not do. */
  readonly mayNot: (asked: Asked) => boolean;
  readonly lease: object | null;
  readonly policies: readonly ClusterPolicyRecord[];
  readonly localMs: number;
  readonly unreachable: boolean;
}

const WELL: World = {
  part: 'run',
  leaseNamespace: null,
  mayNot: () => false,
  lease: null,
  policies: [clusterPolicyRecord({ mode: 'enforce' })],
  localMs: NOW,
  unreachable: false,
};

const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';

/** An API server that also says who may do what, and has Leases. */
function connectionTo({ mayNot, lease }: World): {
  readonly connection: ApiConnection;
  readonly asked: Asked[];
} {
  const cluster = new SimulatedCluster({ now: () => NOW, newId: randomUUID });
  const direct = directConnection({ cluster, serverNowMs: () => NOW, nowMs: () => 0, wait: pause });
  const asked: Asked[] = [];
  const answer = (status: number, body: unknown): ApiAnswer => ({
    status,
    headers: {},
    body: JSON.stringify(body),
  });
  const call: ApiConnection['call'] = async (request, signal) => {
    if (request.path === REVIEWS) {
      const { spec } = Asked.parse(JSON.parse(request.body ?? ''));
      asked.push(spec);
      return answer(201, { status: { allowed: !mayNot(spec) } });
    }
    if (request.path.includes('/leases/'))
      return lease === null
        ? answer(404, {
            kind: 'Status',
            reason: 'NotFound',
            details: { name: request.path.split('/').at(-1) },
          })
        : answer(200, lease);
    return direct.call(request, signal);
  };
  return { connection: { ...direct, clock: direct.clock, call }, asked };
}

/** An event log that is there, with these policies and nothing else. */
function logWith(policies: readonly ClusterPolicyRecord[]): ReturnType<typeof lookAtLog> {
  const reading = {
    servers: async () => ['log.db'],
    checkTopics: async () => [],
    groups: async () => [],
    read: async function* () {},
  };
  const sets = { node: policySet('node', [], []), cluster: policySet('cluster', policies, []) };
  const stored = {
    policies: new Map(),
    pauses: new Map(),
    approvals: new Map(),
    unreadable: [],
    unreadableApprovals: [],
    records: new Map(),
    generations: new Map(),
    deleted: new Set<string>(),
    lost: [],
    sets,
    signatures: { kind: 'judged' as const },
  };
  return {
    facts: {
      prefix: '',
      servers: looked(() => ['log.db']),
      topics: looked(() => []),
      rights: null,
      clock: looked(() => ({ nowMs: NOW, newestMs: null })),
      trust: looked(() => 'off' as const),
      keys: Promise.resolve(null),
    },
    further: (look) => looked(() => look(reading)),
    policies: async () => ({ ok: true, value: { stored, areSignaturesMissing: false } }),
  };
}

async function checked(over: Partial<World> = {}) {
  const world = { ...WELL, ...over };
  const { connection, asked } = connectionTo(world);
  const facts = lookAtCluster({
    cluster: 'prod',
    part: world.part,
    leaseNamespace: world.leaseNamespace,
    open: () => {
      if (world.unreachable) throw new FleetGcError('CONFIG_INVALID', 'there is no file kubeconfig');
      return { connection, server: 'https://api' };
    },
    log: logWith(world.policies),
    version: 'FleetGC',
    sources: { now: () => world.localMs, monotonicNow: () => 0 },
    signal: new AbortController().signal,
  });
  const checks = await runChecks(CLUSTER_CHECKS, facts, pause);
  return { of: (id: string) => checks.find((check) => check.id === id), asked };
}

test('all is well where all is there; of the agent nothing was heard yet', async () => {
  const { of, asked } = await checked();
  expect(of('api-server')).toMatchObject({ outcome: 'ok', seen: expect.stringContaining('https://api') });
  expect(of('api-version')).toMatchObject({ outcome: 'ok' });
  expect(of('api-rights')).toMatchObject({ outcome: 'ok', seen: `all ${asked.length} rights that it needs` });
  expect(of('api-clock')).toMatchObject({ outcome: 'ok' });
  expect(of('policy')).toMatchObject({ outcome: 'ok', seen: 'default, mode enforce' });
  expect(of('agent')).toMatchObject({
    outcome: 'warning',
    seen: expect.stringMatching(/Nothing was ever heard/),
  });
  expect(of('lease')).toMatchObject({ outcome: 'skipped' });
});

describe('rights', () => {
  test('those that are missing are named, with what gives them', async () => {
    const { of } = await checked({
      part: 'agent',
      leaseNamespace: 'kube-system',
      mayNot: ({ resourceAttributes: asked, nonResourceAttributes: path }) =>
        (asked?.verb === 'watch' && asked.resource === 'configmaps') ||
        (asked?.resource === 'leases' && asked.verb === 'patch' && asked.name === 'fleetgc-cluster-agent') ||
        path?.path === '/apis',
    });
    expect(of('api-rights')).toMatchObject({
      outcome: 'problem',
      seen: expect.stringMatching(
        /^3 of \d+ rights are missing.*: watch configmaps, get \/apis, patch leases\.coordination\.k8s\.io fleetgc-cluster-agent in kube-system\.$/,
      ),
      todo: expect.stringContaining('fleetgc cluster rbac --part agent'),
    });
  });

  test('an agent needs none to change anything, and without a policy in enforce nobody does', async () => {
    const verbs = async (over: Partial<World>) =>
      new Set((await checked(over)).asked.map(({ resourceAttributes }) => resourceAttributes?.verb));
    expect((await verbs({ part: 'executor' })).has('delete')).toBe(true);
    expect((await verbs({ part: 'agent' })).has('delete')).toBe(false);
    expect((await verbs({ part: 'executor', policies: [] })).has('delete')).toBe(false);
  });

  test('of a subresource and of one object are asked for as such', () => {
    expect(
      rightsOfRules([
        { apiGroups: [''], resources: ['pods/status'], verbs: ['patch'], resourceNames: ['a'] },
      ]),
    ).toEqual([{ group: '', resource: 'pods/status', verb: 'patch', name: 'a' }]);
  });
});

test('where the API server is not reached, what needs it is skipped, and the log is looked at all the same', async () => {
  const { of } = await checked({ unreachable: true });
  expect(of('api-server')).toMatchObject({
    outcome: 'problem',
    seen: 'there is no file kubeconfig',
    todo: expect.stringContaining('--kubeconfig'),
  });
  for (const id of ['api-version', 'api-rights', 'api-clock', 'lease'])
    expect(of(id), id).toMatchObject({ outcome: 'skipped' });
  expect(of('policy')).toMatchObject({ outcome: 'ok' });
});

test.each([
  ['there is none', null, /There is no Lease kube-system\/fleetgc-cluster-agent/, 'warning'],
  ['nobody holds it', { spec: { holderIdentity: '' } }, /Nobody holds/, 'warning'],
  [
    'it is renewed',
    { spec: { holderIdentity: 'pod-1', renewTime: new Date(NOW - SECOND).toISOString() } },
    /^pod-1 holds/,
    'ok',
  ],
  [
    'it is not renewed any more',
    { spec: { holderIdentity: 'pod-1', renewTime: new Date(NOW - 5 * MINUTE).toISOString() } },
    /has not renewed it for 300 s/,
    'warning',
  ],
])('a Lease: %s', async (_, lease, says, outcome) => {
  const { of } = await checked({ part: 'agent', leaseNamespace: 'kube-system', lease });
  expect(of('lease')).toMatchObject({ outcome, seen: expect.stringMatching(says) });
});

test.each([
  [6 * MINUTE, 'ahead of'],
  [-6 * MINUTE, 'behind'],
])('a clock that is off by %i ms is %s that of the API server', async (offMs, where) => {
  const { of } = await checked({ localMs: NOW + offMs });
  expect(of('api-clock')).toMatchObject({
    outcome: 'problem',
    seen: expect.stringContaining(`6 min ${where}`),
  });
  expect(apiClockFinding({ ok: true, value: { nowMs: NOW, server: null } }).outcome).toBe('skipped');
});

test.each([
  [29, 'problem'],
  [30, 'ok'],
  [34, 'ok'],
  [35, 'warning'],
])('Kubernetes 1.%i', (minor, outcome) => {
  const found = { ok: true, value: { major: 1, minor, text: `v1.${minor}.0` } } as const;
  expect(serverVersionFinding(found).outcome).toBe(outcome);
});

describe('the agent', () => {
  const last = (agoMs: number, clusterInstance = 'a') => ({
    last: { cluster: 'prod', clusterInstance, takenAt: { serverMs: NOW - agoMs, spreadMs: 0 } },
    nowMs: NOW,
    instance: 'a',
  });
  test.each([
    ['is heard', { ok: true, value: last(9 * MINUTE) } as const, 'ok', /heard 9 min ago/],
    ['is silent', { ok: true, value: last(21 * MINUTE) } as const, 'problem', /21 min ago/],
    [
      'is that of another cluster',
      { ok: true, value: last(0, 'b') } as const,
      'problem',
      /cluster instance b/,
    ],
    [
      'is hidden from this login',
      { ok: false, error: new FleetGcError('LOG_UNAUTHORIZED', 'no') } as const,
      'skipped',
      /fleetgc status/,
    ],
  ])('%s', (_, found, outcome, says) => {
    const finding = agentFinding('prod', found);
    expect([finding.outcome, finding.seen]).toEqual([outcome, expect.stringMatching(says)]);
  });
});

test('a cluster without a policy is told of, and one in dry-run', async () => {
  expect((await checked({ policies: [] })).of('policy')).toMatchObject({
    outcome: 'warning',
    seen: 'there is no policy for clusters',
  });
  const dry = [clusterPolicyRecord({ mode: 'dry-run' })];
  expect((await checked({ policies: dry })).of('policy')).toMatchObject({ outcome: 'warning' });
});
