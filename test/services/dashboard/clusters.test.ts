import { describe, expect, test } from 'vitest';
import { clusterOutput } from '../../../packages/decision/handler.ts';
import { AuditReport } from '../../../schemas/reports/audit-report.ts';
import { ClusterExplanation } from '../../../schemas/reports/cluster-explanation.ts';
import { DashboardStatus } from '../../../schemas/reports/dashboard.ts';
import {
  DashboardCluster,
  DashboardClusterObjects,
  DashboardClusterOutcomes,
  DashboardClusters,
  DashboardHeld,
  DashboardObjectLife,
  DashboardOwnerGraph,
} from '../../../schemas/reports/dashboard-clusters.ts';
import { FleetStatus } from '../../../schemas/reports/fleet-status.ts';
import { HeldList } from '../../../schemas/reports/policy-list.ts';
import { inProcess } from '../../cli/fleetgc.ts';
import { census } from '../../fixtures/census.ts';
import { candidate, owner, ownership } from '../../fixtures/ownership.ts';
import { HOUR, MINUTE } from '../../fixtures/time.ts';
import { timedLog } from '../../packages/audit/support/timed-log.ts';
import { outgoing } from '../../support/logs/log-record.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { livedCluster, published } from './support/cluster-log.ts';
import { caughtUp, type Dashboard, dashboardOf } from './support/dashboard.ts';

async function lived(): Promise<{
  readonly dashboard: Dashboard;
  readonly ask: (...args: string[]) => Promise<unknown>;
}> {
  const { log, path, publishAt } = await timedLog();
  for (const { timestampMs, ...record } of published(livedCluster()))
    await publishAt(timestampMs, ...[record, record].slice(0, record.topic === 'gc.cluster.results' ? 2 : 1));
  const dashboard = await dashboardOf(log, { from: { kind: 'embedded', log, name: 'test', path } });
  await caughtUp(dashboard);
  const ask = async (...args: string[]): Promise<unknown> => {
    const { stdout } = await inProcess([...args, '-o', 'json', '--log', 'embedded', '--log-path', path]);
    return JSON.parse(stdout);
  };
  return { dashboard, ask };
}

test('clusters are as fleetgc status, cluster report, held, audit report and audit explain tell them', async () => {
  const { dashboard, ask } = await lived();
  await waitUntil(
    'the status',
    60_000,
    async () => DashboardStatus.parse(await dashboard.json('/api/status')).status,
  );
  const { clusters } = DashboardClusters.parse(await dashboard.json('/api/clusters?since=0'));
  const status = FleetStatus.parse(await ask('status'));
  expect(clusters.map((each) => each.status)).toEqual(status.clusters);
  const [reported] = (await ask('cluster', 'report')) as unknown[];
  const cluster = DashboardCluster.parse(await dashboard.json('/api/cluster?cluster=c1'));
  expect(cluster.census).toEqual(reported);
  expect(clusters).toMatchObject([
    {
      cluster: 'c1',
      isSilent: false,
      candidates: 8,
      toldBy: { session: '22222222-2222-4222-8222-222222222222' },
      found: {
        objects: 69,
        stuckFinalizers: 1,
        waitingOwners: 1,
        badReferences: 60,
        missingOwners: 2,
        unreadKinds: 1,
      },
      removed: [3],
    },
  ]);

  const { held, policy } = DashboardHeld.parse(await dashboard.json('/api/cluster/held?cluster=c1'));
  expect(held).toEqual(HeldList.parse(await ask('held', '--cluster', 'c1')));
  expect(held.clusters).toMatchObject([{ holds: [{ rule: 'S1', objects: 8 }] }]);
  expect(policy).toMatchObject({ name: 'default', limits: { cascade: 5 } });

  const life = DashboardObjectLife.parse(await dashboard.json('/api/cluster/life?cluster=c1&uid=rs'));
  const explained = ClusterExplanation.parse(await ask('audit', 'explain', 'object/rs', '--cluster', 'c1'));
  expect(life).toEqual({ explanation: explained, leftOut: 0 });
});

test('what was removed, changed and refused is what audit report counts, for any time', async () => {
  const { dashboard, ask } = await lived();
  const nowMs = Date.now();
  for (const [fromAgo, toAgo] of [
    [120, 0],
    [59, 55],
    [50, 1],
  ] as const) {
    const [from, to] = [nowMs - fromAgo * MINUTE, nowMs - toAgo * MINUTE];
    const range = ['--from', new Date(from).toISOString(), '--to', new Date(to).toISOString()];
    const report = AuditReport.parse(await ask('audit', 'report', ...range)).clusters;
    const outcomes = DashboardClusterOutcomes.parse(
      await dashboard.json(`/api/cluster/outcomes?cluster=c1&from=${from}&to=${to}`),
    );
    const told = <Row extends object>(rows: readonly Row[]) =>
      rows.map((row) => ({ ...row, because: undefined }));
    expect(told(outcomes.removed)).toEqual(told(report.removed));
    expect(told(outcomes.changed)).toEqual(told(report.changed));
    const { goneAlready, rehearsed, refused, failed } = report;
    expect(outcomes).toMatchObject({ goneAlready, rehearsed, refused, failed });
  }
});

test('the curves are those of the kinds with the most objects, and a census without kinds leaves a gap', async () => {
  const { dashboard } = await lived();
  const { curves, kinds } = DashboardCluster.parse(await dashboard.json('/api/cluster?cluster=c1'));
  expect(curves.objects.map(([, objects]) => objects)).toEqual([12, 58, 69]);
  expect(curves.kinds.map(({ kind, points }) => [kind, points.map(([, objects]) => objects)])).toEqual([
    ['Pod', [null, 30, 40]],
    ['ConfigMap', [null, 20, 21]],
    ['Secret', [null, 8, 8]],
  ]);
  expect(kinds).toHaveLength(3);
});

describe('the owner graph', () => {
  const graphOf = async (dashboard: Dashboard, uid: string): Promise<DashboardOwnerGraph> =>
    DashboardOwnerGraph.parse(await dashboard.json(`/api/cluster/graph?cluster=c1&uid=${uid}`));

  test('goes from an object to its owners and dependents, and says how each stands', async () => {
    const { dashboard, ask } = await lived();
    const { objects, edges } = await graphOf(dashboard, 'rs');
    const states = Object.fromEntries(objects.map(({ uid, state }) => [uid, state]));
    expect(states).toEqual({
      rs: 'removed',
      deploy: 'gone',
      'pod-a': 'being-deleted',
      'pod-b': 'removed',
      tls: 'candidate',
      other: 'there',
    });
    expect(objects[0]).toMatchObject({
      uid: 'rs',
      kind: 'apps/ReplicaSet',
      name: 'web-1',
      last: { outcome: 'removed', rule: 'D14' },
      more: 0,
    });
    expect(edges.map(({ owner: of, dependent }) => `${of} ${dependent}`).toSorted()).toEqual([
      'deploy rs',
      'deploy tls',
      'other tls',
      'rs pod-a',
      'rs pod-b',
    ]);
    for (const uid of ['rs', 'pod-a', 'pod-b', 'deploy']) {
      const explained = ClusterExplanation.parse(
        await ask('audit', 'explain', `object/${uid}`, '--cluster', 'c1'),
      );
      expect(explained.status === 'explained' && explained.lives[0]?.state, uid).toBe(states[uid]);
    }
  });

  test('has two hundred objects at most, and says how many more there are', async () => {
    const { log, publishAt } = await timedLog();
    const candidates = Array.from({ length: 300 }, (_, index) =>
      candidate({
        object: { uid: `d-${index}`, name: `d-${index}` },
        references: [owner('o', { state: 'gone' })],
      }),
    );
    await publishAt(
      Date.now() - MINUTE,
      outgoing(clusterOutput('clusterOwnership', ownership({ candidates }))),
    );
    const dashboard = await dashboardOf(log);
    await caughtUp(dashboard);
    const graph = await graphOf(dashboard, 'o');
    expect(graph.objects).toHaveLength(200);
    expect(graph.edges).toHaveLength(199);
    expect(graph.objects[0]).toMatchObject({ uid: 'o', state: 'gone', more: 101 });
    expect((await graphOf(dashboard, 'd-299')).objects.some(({ uid }) => uid === 'd-299')).toBe(true);
  });

  test('keeps what an object named once, and does not any more, as dropped', async () => {
    const { log, publishAt } = await timedLog();
    const told = (id: string, owners: readonly string[]) =>
      outgoing(
        clusterOutput(
          'clusterOwnership',
          ownership({ id, candidates: [candidate({ references: owners.map((uid) => owner(uid)) })] }),
        ),
      );
    await publishAt(Date.now() - 2 * MINUTE, told('first', ['a', 'b']));
    await publishAt(Date.now() - MINUTE, told('second', ['b']));
    const dashboard = await dashboardOf(log);
    await caughtUp(dashboard);
    const { edges } = await graphOf(dashboard, 'x');
    expect(edges.map(({ owner: of, isDropped }) => [of, isDropped])).toEqual([
      ['a', true],
      ['b', false],
    ]);
  });
});

test('objects are found by name, kind and the beginning of their uid', async () => {
  const { dashboard } = await lived();
  const find = async (q: string) =>
    DashboardClusterObjects.parse(await dashboard.json(`/api/cluster/objects?cluster=c1&q=${q}`)).objects.map(
      ({ uid }) => uid,
    );
  expect(await find('WEB-1-')).toEqual(['pod-a', 'pod-b']);
  expect(await find('replicaset')).toEqual(['rs']);
  expect(await find('pod-b')).toEqual(['pod-b']);
  expect(await find('')).toHaveLength(12);
  expect(await find('%25')).toEqual([]);
});

test('a cluster that told nothing for long is still there, and silent', async () => {
  const { log, publishAt } = await timedLog();
  await publishAt(Date.now() - 40 * HOUR, outgoing(clusterOutput('clusterCensus', census())));
  await publishAt(
    Date.now() - MINUTE,
    outgoing(clusterOutput('clusterCensus', { ...census(), id: 'c2', cluster: 'c2' })),
  );
  const dashboard = await dashboardOf(log);
  await caughtUp(dashboard);
  const { clusters } = DashboardClusters.parse(await dashboard.json('/api/clusters'));
  expect(clusters.map(({ cluster, isSilent }) => [cluster, isSilent])).toEqual([
    ['c1', true],
    ['c2', false],
  ]);
  const page = DashboardClusters.parse(await dashboard.json('/api/clusters?limit=1'));
  expect([page.clusters.length, page.after]).toEqual([1, 'c1']);
  const rest = DashboardClusters.parse(await dashboard.json('/api/clusters?limit=1&after=c1'));
  expect([rest.clusters[0]?.cluster, rest.after]).toEqual(['c2', null]);
});
