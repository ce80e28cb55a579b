import { expect, test } from 'vitest';
import { clusterOutput, nodeOutput } from '../../../packages/decision/handler.ts';
import { DashboardSearch } from '../../../schemas/reports/dashboard.ts';
import { fullCensus } from '../../fixtures/census.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { container, inventory } from '../../fixtures/inventory.ts';
import { candidate, owner, ownership } from '../../fixtures/ownership.ts';
import { objectResult, removed } from '../../fixtures/results.ts';
import { instant, MINUTE } from '../../fixtures/time.ts';
import { timedLog } from '../../packages/audit/support/timed-log.ts';
import { outgoing } from '../../support/logs/log-record.ts';
import { caughtUp, type Dashboard, dashboardOf } from './support/dashboard.ts';

const HERE = `${'ab'.repeat(32)}`;
const THERE = `${'ac'.repeat(32)}`;
const GONE = `${'cd'.repeat(32)}`;

/** Two nodes with a container each, of which one was there before and was removed; and a cluster. */
async function searched(): Promise<(text: string) => Promise<readonly unknown[]>> {
  const { log, publishAt } = await timedLog();
  const nowMs = Date.now();
  const takenAt = (agoMs: number) => instant({ wallTimeMs: nowMs - agoMs });
  const listing = (node: string, agoMs: number, ...ids: readonly string[]) =>
    outgoing(
      nodeOutput(
        'inventory',
        inventory({
          id: `inventory-${node}-${agoMs}`,
          node,
          takenAt: takenAt(agoMs),
          containers: ids.map((id) =>
            container(id, {
              name: 'Proxy',
              pod: { namespace: 'shop', name: `web-${node}`, uid: `uid-${node}` },
            }),
          ),
        }),
      ),
    );
  await publishAt(nowMs - 3 * MINUTE, listing('a', 3 * MINUTE, HERE, GONE), listing('b', 3 * MINUTE, THERE));
  await publishAt(
    nowMs - 2 * MINUTE,
    outgoing(
      nodeOutput(
        'results',
        objectResult({ node: 'a', object: { kind: 'container', id: GONE }, result: removed(10) }),
      ),
    ),
    outgoing(clusterOutput('clusterCensus', fullCensus({}))),
    outgoing(
      clusterOutput(
        'clusterOwnership',
        ownership({
          candidates: [candidate({ object: { name: 'checkout', uid: 'f00d-1' }, references: [owner('o')] })],
        }),
      ),
    ),
  );
  for (const node of ['a', 'b'])
    await publishAt(
      nowMs - MINUTE,
      listing(node, MINUTE, node === 'a' ? HERE : THERE),
      outgoing(
        nodeOutput('diskStats', diskStats({}, { id: `stats-${node}`, node, takenAt: takenAt(MINUTE) })),
      ),
    );
  const dashboard: Dashboard = await dashboardOf(log);
  await caughtUp(dashboard);
  return async (text) =>
    DashboardSearch.parse(await dashboard.json(`/api/search?${new URLSearchParams({ q: text })}`)).found;
}

test('a search finds containers by name and by the beginning of an id, and clusters and their objects', async () => {
  const find = await searched();
  const [here, there] = [
    { kind: 'container', id: HERE, name: 'shop/web-a/Proxy', node: 'prod/a', cluster: null },
    { kind: 'container', id: THERE, name: 'shop/web-b/Proxy', node: 'prod/b', cluster: null },
  ];
  expect(await find('proxy')).toEqual([here, there]);
  expect(await find('WEB-A/')).toEqual([here]);
  expect(await find('abab')).toEqual([here]);
  expect(await find(THERE)).toEqual([there]);
  // In the middle of an id nobody looks.
  expect(await find('baba')).toEqual([]);
  expect(await find('cdcd')).toEqual([
    { kind: 'container', id: GONE, name: GONE, node: 'prod/a', cluster: null },
  ]);
  expect(await find('c1')).toEqual([{ kind: 'cluster', id: 'c1', name: 'c1', node: null, cluster: 'c1' }]);
  const object = {
    kind: 'cluster-object',
    id: 'f00d-1',
    name: 'ConfigMap ns/checkout',
    node: null,
    cluster: 'c1',
  };
  expect(await find('checkout')).toEqual([object]);
  expect(await find('f00d')).toEqual([object]);
});
