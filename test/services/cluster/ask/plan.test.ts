import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { clusterPlanLines } from '../../../../packages/documents/cluster.ts';
import type { ClusterPolicy } from '../../../../schemas/policy/cluster-policy.ts';
import type { OwnRule } from '../../../../schemas/policy/own-rule.ts';
import { ClusterPlan } from '../../../../schemas/reports/cluster-plan.ts';
import { lookAtCluster } from '../../../../services/cluster/ask/look.ts';
import { clusterPlan } from '../../../../services/cluster/ask/plan.ts';
import { clusterPolicyRecord } from '../../../fixtures/cluster.ts';
import { jobFacts, NOW_MS } from '../../../fixtures/expiry.ts';
import { FakeCluster } from '../agent/support/fake-cluster.ts';
import { KEPT, lookedAt, owned } from './support/looked-at.ts';

async function planned(prepare: (cluster: FakeCluster) => void, policy: Partial<ClusterPolicy> = {}) {
  const asking = { look: await lookedAt(prepare), clusterInstance: 'c', record: clusterPolicyRecord(policy) };
  return ClusterPlan.parse(clusterPlan(asking));
}
const OWNERS = 'garbage-collector-controller';
const linesOf = ({ collectors }: ClusterPlan): readonly string[] =>
  collectors
    .filter(({ collector }) => collector === OWNERS)
    .flatMap(({ objects }) =>
      objects.map(({ name, action, rule, wave }) => `${name} ${action} ${rule} ${wave}`),
    );

const orphans = (cluster: FakeCluster): void => {
  cluster.put(owned('d', ['nobody']));
  cluster.put(owned('e', ['d']));
  cluster.put(owned('kept', ['nobody'], {}, KEPT));
  cluster.put({ resource: 'configmaps', name: 'o' });
  cluster.put(owned('held', ['o']));
};

test('[cluster D14, S5] what lacks its owner goes, then what that owned; what is kept is said, and what is held is none', async () => {
  const plan = await planned(orphans);
  expect(linesOf(plan)).toEqual(['d delete D14 1', 'e delete D14 2', 'kept keep S5 1']);
  expect(plan).toMatchObject({ totals: { kinds: 3, objects: 6 }, unreadKinds: [], failedGroups: [] });
});

test('[cluster S1] a wide cascade is held, as it would be', async () => {
  const limits = { cascade: 1, cascadeOfKind: 5_000, removalsPerHour: 10_000 };
  expect(linesOf(await planned(orphans, { limits }))).toEqual(['d hold S1 1', 'kept keep S5 1']);
});

/** So many children with the owner uids of before a restore; their owners live under other uids. */
const restored =
  (count: number) =>
  (cluster: FakeCluster): void => {
    for (let at = 0; at < count; at++) {
      cluster.put({ resource: 'configmaps', name: `o${at}`, uid: `new-${at}` });
      cluster.put(owned(`child-${at}`, [`o${at}`], { uid: `old-${at}` }));
    }
  };

test('[cluster S16] a few children of owners whose names live with other uids go, and the plan says so', async () => {
  const plan = await planned(restored(9));
  const objects = plan.collectors.flatMap((each) => (each.collector === OWNERS ? each.objects : []));
  expect(objects).toHaveLength(9);
  for (const each of objects)
    expect(each).toMatchObject({
      action: 'delete',
      rule: 'D14',
      because: 'an owner of that name lives with another uid',
    });
});

const Restored = z.object({
  objects: z.array(
    z.object({
      kind: z.string(),
      name: z.string(),
      annotations: z.record(z.string(), z.string()).optional(),
      owners: z.array(z.record(z.string(), z.unknown())).optional(),
    }),
  ),
});

test('[cluster S16, S5] a backup that was restored with the owner uids of before: what goes is told with why, and what is kept stays', async () => {
  const path = join(import.meta.dirname, '../../../fixtures/restored-with-old-uids.json');
  const { objects } = Restored.parse(JSON.parse(readFileSync(path, 'utf8')));
  const plan = await planned((cluster) => {
    const kinds = [...new Set(objects.map(({ kind }) => kind))];
    cluster.kinds = {
      ...cluster.kinds,
      ...Object.fromEntries(kinds.map((kind) => [resourceOf(kind), { kind, namespaced: true }])),
    };
    for (const { kind, name, annotations, owners = [] } of objects)
      cluster.put({
        resource: resourceOf(kind),
        name,
        // Here all kinds are of the core group.
        metadata: { annotations, ownerReferences: owners.map((owner) => ({ ...owner, apiVersion: 'v1' })) },
      });
  });
  const told = plan.collectors.flatMap((each) => (each.collector === OWNERS ? each.objects : []));
  const because = 'an owner of that name lives with another uid';
  expect(told.toSorted((a, b) => a.name.localeCompare(b.name))).toMatchObject([
    { kind: 'ConfigMap', name: 'kept', action: 'keep', rule: 'S5' },
    { kind: 'ReplicaSet', name: 'shop-5d', action: 'delete', rule: 'D14', because },
    { kind: 'Pod', name: 'shop-5d-a', action: 'delete', rule: 'D14', because },
  ]);
});

const resourceOf = (kind: string): string => `${kind.toLowerCase()}s`;

test('[cluster S16] as many at once as a restore leaves are held in profile fleetgc, and go in profile kubernetes', async () => {
  const held = await planned(restored(10));
  const objects = held.collectors.flatMap((each) => (each.collector === OWNERS ? each.objects : []));
  expect(objects).toHaveLength(10);
  for (const each of objects)
    expect(each).toMatchObject({
      action: 'hold',
      rule: 'S16',
      because: 'an owner of that name lives with another uid, as after a restore from a backup',
    });
  const upstream = await planned(restored(10), { profile: 'kubernetes' });
  expect(linesOf(upstream).filter((line) => line.includes('delete D14'))).toHaveLength(10);
});

test.each([
  ['enforce', [OWNERS], 'commanded'],
  ['dry-run', [OWNERS], 'dry-run'],
  ['enforce', [], 'not-ours'],
] as const)('mode %s with collectors %j would end as %s', async (mode, collectors, outcome) => {
  const { collectors: plans } = await planned(orphans, { mode, collectors: [...collectors] });
  expect(plans.find(({ collector }) => collector === OWNERS)?.outcome).toBe(outcome);
});

test('[cluster I8] nothing is said of what names owners of a kind that cannot be read', async () => {
  const plan = await planned((cluster) => {
    cluster.put(owned('d', ['nobody']));
    cluster.refusals.set('configmaps', 403);
  });
  expect(linesOf(plan)).toEqual([]);
  expect(plan.unreadKinds).toMatchObject([{ group: '', kind: 'ConfigMap' }]);
});

test('a kind that the printed role leaves out is named as that, and not among what cannot be read', async () => {
  const plan = await planned((cluster) => {
    cluster.put(owned('d', ['nobody']));
    cluster.refusals.set('secrets', 403);
    cluster.refusals.set('configmaps', 403);
  });
  const lines = clusterPlanLines(plan);
  expect(lines.filter((line) => line.includes('cannot be read'))).toEqual([
    expect.stringMatching(/^ConfigMap cannot be read/),
  ]);
  expect(lines).toContainEqual(
    expect.stringMatching(/^Not read, as "fleetgc cluster rbac" leaves them out of its role, .*: Secret$/),
  );
});

test('[cluster I10] an owner that comes while the lists are read holds its dependent', async () => {
  const cluster = new FakeCluster(() => 0);
  const connection = cluster.connection();
  let lists = 0;
  const look = await lookAtCluster(
    {
      nowMs: () => 0,
      connection: {
        ...connection,
        call: async (request, signal) => {
          // Owner and dependent come when the kind of the owner was listed already.
          if (request.path.includes('/secrets') && lists++ === 0) {
            const { metadata = {} } = owned('late', ['unknown']);
            cluster.put({ resource: 'configmaps', name: 'late', metadata });
            cluster.put(owned('early', ['late']));
          }
          return connection.call(request, signal);
        },
      },
    },
    AbortSignal.timeout(60_000),
  );
  expect(look.newcomers.flatMap(({ objects }) => (objects ?? []).map(({ name }) => name))).toEqual(['late']);
  const plan = clusterPlan({ look, clusterInstance: 'c', record: clusterPolicyRecord() });
  expect(linesOf(plan)).toEqual([]);
});

test('[cluster K4, S5] Jobs past their TTL are planned as their own collector would delete them, and no others', async () => {
  const look = await lookedAt(() => undefined);
  const job = (name: string, finishedAgoMs: number, keep = false) => ({
    ...{ namespace: 'ns', name, uid: name, resourceVersion: '7', keep },
    ...{ deletionTimestamp: null, finalizers: [], ownerReferences: [] },
    expiring: {
      createdAtMs: null,
      facts: jobFacts({ ttlSecondsAfterFinished: 60, finished: { atMs: NOW_MS - finishedAgoMs } }),
    },
  });
  const jobs = {
    kind: { group: 'batch', version: 'v1', kind: 'Job', resource: 'jobs', namespaced: true },
    objects: [job('past', 60_000), job('young', 59_999), job('kept', 60_000, true)],
    reason: '',
  };
  const asking = { look: { ...look, lists: [...look.lists, jobs] }, clusterInstance: 'c' };
  const collectors = ['ttl-after-finished-controller'] as const;
  const record = clusterPolicyRecord({ collectors: [...collectors] });
  const planAt = (serverMs: number | null) =>
    ClusterPlan.parse(clusterPlan({ ...asking, look: { ...asking.look, serverMs }, record })).collectors.find(
      ({ collector }) => collector === collectors[0],
    );
  const told = planAt(NOW_MS);
  expect(told?.outcome).toBe('commanded');
  expect(told?.objects.map(({ name, action, rule, because }) => [name, action, rule, because])).toEqual([
    ['past', 'expire', 'K4', 'its TTL is over'],
    ['kept', 'keep', 'S5', 'it is kept by annotation or policy'],
  ]);
  // While nobody knows what the API server's clock shows, nothing is over.
  expect(planAt(null)).toMatchObject({ outcome: 'nothing-to-do', objects: [] });
});

test('[cluster S12, S11, S5] what each rule of the policy would do is planned, with what it holds and keeps', async () => {
  const rule = (name: string, over: Partial<OwnRule>): OwnRule => ({
    name,
    kinds: ['ConfigMap'],
    namespaces: [],
    labels: { app: 'ci' },
    afterMs: 3_600_000,
    propagation: 'Background',
    removalsPerHour: 100,
    ...over,
  });
  const rules = [
    rule('old', {}),
    rule('all', { kinds: ['Secret'], labels: { app: 'web' } }),
    rule('idle', { namespaces: ['no'] }),
  ];
  const record = clusterPolicyRecord({ rules, collectors: [] });
  const cluster = new FakeCluster(() => 0);
  const put = (resource: string, name: string, app: string, more: object = {}): void =>
    cluster.put({
      resource,
      name,
      metadata: { labels: { app }, creationTimestamp: '2026-01-01T00:00:00Z', ...more },
    });
  put('configmaps', 'a', 'ci');
  put('configmaps', 'b', 'web');
  put('configmaps', 'kept', 'ci', KEPT);
  put('configmaps', 'young', 'ci', { creationTimestamp: '2027-01-15T07:59:00Z' });
  for (let index = 0; index < 10; index++) put('secrets', `s${index}`, 'web');
  const look = await lookAtCluster(
    { connection: cluster.connection(), nowMs: () => 0, rules },
    AbortSignal.timeout(60_000),
  );
  const plan = ClusterPlan.parse(clusterPlan({ look, clusterInstance: 'c', record }));
  const lines = plan.rules.map(({ rule: name, outcome, objects }) => [
    name,
    outcome,
    ...objects.map((each) => `${each.name} ${each.action} ${each.rule}`),
  ]);
  expect(lines).toEqual([
    ['old', 'commanded', 'a expire S12', 'kept keep S5'],
    ['all', 'nothing-to-do', ...Array.from({ length: 10 }, (_, index) => `s${index} hold S11`)],
    ['idle', 'nothing-to-do'],
  ]);
  const text = clusterPlanLines(plan).join('\n');
  expect(text).toContain('rule old: this would be done, no more of it in an hour than the rule allows');
  expect(text).toMatch(/delete +ConfigMap +ns\/a +1 +it is as old as a rule says \(S12\)/);
  expect(text).toMatch(/hold +Secret +ns\/s0 +too much of its kind would go at once \(S11/);
});
