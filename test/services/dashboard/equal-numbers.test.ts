import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import type { OutgoingRecord } from '../../../packages/log/port.ts';
import type { InventoryImage } from '../../../schemas/events/inventory.ts';
import { AuditReport } from '../../../schemas/reports/audit-report.ts';
import {
  DashboardFleet,
  DashboardFreed,
  DashboardNodes,
  DashboardStatus,
} from '../../../schemas/reports/dashboard.ts';
import { DashboardPlan } from '../../../schemas/reports/dashboard-plan.ts';
import { FleetNodes } from '../../../schemas/reports/fleet-nodes.ts';
import { FleetStatus } from '../../../schemas/reports/fleet-status.ts';
import { Plan } from '../../../schemas/reports/plan.ts';
import { inProcess, ownLog } from '../../cli/fleetgc.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { image, inventory } from '../../fixtures/inventory.ts';
import { objectResult, refusedCommand, removed } from '../../fixtures/results.ts';
import { HOUR, instant, MINUTE } from '../../fixtures/time.ts';
import { timedLog } from '../../packages/audit/support/timed-log.ts';
import { outgoing } from '../../support/logs/log-record.ts';
import { standingClock } from '../../support/standing-clock.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { caughtUp, dashboardOf } from './support/dashboard.ts';

const statsOf = (node: string, atMs: number, over: Parameters<typeof diskStats>[1] = {}): OutgoingRecord =>
  outgoing(
    nodeOutput(
      'diskStats',
      diskStats({}, { id: `stats-${node}-${atMs}`, node, takenAt: instant({ wallTimeMs: atMs }), ...over }),
    ),
  );

test('nodes are those of fleetgc nodes: those that are heard, silent, paused and misspelt', async () => {
  standingClock();
  const { log, path, publishAt, hearAt } = await timedLog();
  const nowMs = Date.now();
  const policy = appliedPolicy({ name: 'default' });
  await publishAt(nowMs - 10 * HOUR, outgoing({ topic: 'policies', key: 'default', event: policy }));
  await hearAt(nowMs - 9 * HOUR, statsOf('gone', nowMs - 9 * HOUR));
  await hearAt(nowMs - 40 * MINUTE, statsOf('brief', nowMs - 40 * MINUTE));
  for (const [index, agoMs] of [3 * MINUTE, 2 * MINUTE, MINUTE, 1_000].entries())
    await hearAt(
      nowMs - agoMs,
      statsOf('web-1', nowMs - agoMs, { nodeLabels: { disk: 'small' } }),
      statsOf('twins', nowMs - agoMs, {
        takenAt: instant({ wallTimeMs: nowMs, bootId: `6f1c2b5e-1111-4222-8333-94444444444${index % 2}` }),
      }),
      statsOf('far-1', nowMs - agoMs, { cluster: 'prodd' }),
      statsOf('early', nowMs - agoMs, { takenAt: instant({ wallTimeMs: nowMs + HOUR }) }),
    );
  const ask = async (...args: string[]) => {
    const { stdout } = await inProcess([...args, '-o', 'json', '--log', 'embedded', '--log-path', path]);
    return JSON.parse(stdout);
  };
  await inProcess([
    'pause',
    '--node-name',
    'web-1,gone',
    '--reason',
    'upgrade',
    '--log',
    'embedded',
    '--log-path',
    path,
    '--trust',
    'off',
  ]);
  const dashboard = await dashboardOf(log);
  await caughtUp(dashboard);

  const told = await waitUntil('the silent nodes to be found', 20_000, async () => {
    const { nodes } = DashboardNodes.parse(await dashboard.json('/api/nodes'));
    return nodes.length === 6 && nodes;
  });
  const { nodes } = FleetNodes.parse(await ask('nodes'));
  expect(nodes).toHaveLength(6);
  expect(told).toEqual(nodes);
  const { columns } = DashboardFleet.parse(await dashboard.json('/api/fleet'));
  // The silent one is paused too: the worse is not all that is true of it.
  expect(columns.isPaused).toEqual(nodes.map(({ pausedBecause }) => pausedBecause !== null));
  expect(columns.isPaused.filter((isPaused) => isPaused)).toHaveLength(2);
  expect(columns.hasPolicy).toEqual(nodes.map(({ policy }) => policy !== null));
  const page = DashboardNodes.parse(await dashboard.json('/api/nodes?limit=4'));
  const rest = DashboardNodes.parse(await dashboard.json(`/api/nodes?limit=4&after=${page.after}`));
  expect([...page.nodes, ...rest.nodes]).toEqual(nodes);
  expect(rest.after).toBeNull();

  const status = await waitUntil('the status', 60_000, async () => {
    const answer = DashboardStatus.parse(await dashboard.json('/api/status'));
    return answer.status;
  });
  const { problems, nodes: counts, warnings, policies, pauses } = FleetStatus.parse(await ask('status'));
  expect(status).toMatchObject({ problems, nodes: counts, warnings, policies, pauses });
});

test('an event log that stands still needs somebody, on the page as for the verb', async () => {
  const { log, path, hearAt } = await timedLog();
  const heardMs = Date.now() - 15 * MINUTE;
  await hearAt(heardMs, statsOf('web-1', heardMs));
  const dashboard = await dashboardOf(log);
  const status = await waitUntil('the page to know the node', 60_000, async () => {
    const answer = DashboardStatus.parse(await dashboard.json('/api/status')).status;
    return (answer?.nodes?.silent ?? 0) > 0 && answer;
  });
  // Its images are not known now: it is said that a node is not counted, and not only "0 B on 0 nodes".
  expect(await dashboard.json('/api/images')).toMatchObject({ nodes: 0, nodesNotCounted: 1 });
  const { stdout } = await inProcess(['status', '-o', 'json', '--log', 'embedded', '--log-path', path]);
  const asked = FleetStatus.parse(JSON.parse(stdout));
  for (const { problems, log: told } of [status, asked]) {
    expect(told.newestFactMs).toBe(heardMs);
    expect(problems).toContainEqual(
      expect.stringMatching(
        /^The event log stands still: nothing has come from any node or cluster for 1[5-9] minutes, and 1 node was heard/,
      ),
    );
  }
});

test('what was freed is what the report counts, for any time', async () => {
  const { log, path, publishAt } = await timedLog();
  const nowMs = Date.now();
  const sizes = [10, null, 300, 7, null, 45];
  for (const [index, bytes] of sizes.entries()) {
    const atMs = nowMs - (sizes.length - index) * HOUR;
    const result = objectResult({
      id: `result-${index}`,
      rule: index % 2 === 0 ? 'D11' : 'D10',
      result: removed(bytes, bytes === null && index > 2 ? 20 : null),
    });
    // Any message may lie on the log twice.
    await publishAt(atMs, outgoing(nodeOutput('results', result)), outgoing(nodeOutput('results', result)));
    await publishAt(atMs, outgoing(nodeOutput('results', refusedCommand({ id: `refused-${index}` }))));
  }
  await publishAt(
    nowMs - MINUTE,
    outgoing(nodeOutput('inventory', inventory({ takenAt: instant({ wallTimeMs: nowMs }) }))),
  );
  const dashboard = await dashboardOf(log);
  await caughtUp(dashboard);
  for (const [fromAgo, toAgo] of [
    [24, 0],
    [5.5, 2.5],
    [4, 1],
  ] as const) {
    const [from, to] = [nowMs - fromAgo * HOUR, nowMs - toAgo * HOUR];
    const { stdout } = await inProcess([
      ...['audit', 'report', '-o', 'json', '--log', 'embedded', '--log-path', path],
      ...['--from', new Date(from).toISOString(), '--to', new Date(to).toISOString()],
    ]);
    const { bySpan: _spans, byRule, ...sums } = AuditReport.parse(JSON.parse(stdout)).removed;
    const freed = DashboardFreed.parse(await dashboard.json(`/api/freed?from=${from}&to=${to}`));
    expect(freed).toMatchObject(sums);
    expect(freed.byRule.map(({ because: _words, ...rule }) => rule)).toEqual(byRule);
  }
});

test.each(['periodic', 'forced', 'eviction:imagefs.available'])(
  'what would go next (%s) is what fleetgc plan says of the newest inventory, with the policy that is applied',
  async (trigger) => {
    const { log, path, run } = await ownLog();
    const [policyFile, inventoryFile] = ['policy.yaml', 'inventory.json'].map((name) =>
      join(dirname(path), name),
    );
    if (policyFile === undefined || inventoryFile === undefined) throw new Error('no files');
    writeFileSync(
      policyFile,
      'name: default\nmode: enforce\nimageMaximumGCAge: 48h\nkeep:\n  images: ["*/platform*"]\n',
    );
    expect(await run('policy', 'apply', policyFile, '--trust', 'off')).toMatchObject({ exitCode: 0 });
    const takenAt = instant({ wallTimeMs: Date.now() });
    const imageOf = (number: number): InventoryImage =>
      image(`image-${number}`, {
        repoTags: [`registry.example/${number === 3 ? 'platform' : 'app'}:${number}`],
        sizeBytes: 1_000 * number,
        firstDetectedMs: takenAt.wallTimeMs - number * 24 * HOUR,
        lastUsedMs: takenAt.wallTimeMs - number * 24 * HOUR,
      });
    const newest = inventory({ id: 'newest', takenAt, images: [1, 2, 3, 4, 5].map(imageOf) });
    await log.publish([
      statsOf('web-1', takenAt.wallTimeMs),
      outgoing(nodeOutput('inventory', inventory({ id: 'older', takenAt, images: [imageOf(9)] }))),
      outgoing(nodeOutput('inventory', newest)),
    ]);
    writeFileSync(inventoryFile, JSON.stringify(newest));
    const dashboard = await dashboardOf(log);
    await caughtUp(dashboard);
    const asked = new URLSearchParams({ cluster: newest.cluster, node: newest.node, trigger });
    const { plan, removeCount, keepCount, keptBecause } = DashboardPlan.parse(
      await dashboard.json(`/api/plan?${asked}`),
    );
    const { stdout } = await inProcess([
      ...['plan', '--inventory', inventoryFile, '--policy', policyFile, '--trigger', trigger, '-o', 'json'],
    ]);
    expect(plan).toEqual(Plan.parse(JSON.parse(stdout)));
    expect(plan.inventory.id).toBe('newest');
    expect(removeCount).toBeGreaterThan(0);
    expect([removeCount, keepCount]).toEqual([plan.remove.length, plan.keep.length]);
    expect(keptBecause.reduce((sum, { objects }) => sum + objects, 0)).toBe(keepCount);
  },
);

test('a dashboard that is started again, and one without its file, tell the same', async () => {
  standingClock();
  const { log, path } = await ownLog();
  await log.publish([statsOf('web-1', Date.now()), outgoing(nodeOutput('results', objectResult()))]);
  const projection = path.replace('event-log.db', 'projection.db');
  const asked = async (file: string): Promise<unknown> => {
    const dashboard = await dashboardOf(log, { path: file });
    await caughtUp(dashboard);
    const { nodes } = DashboardNodes.parse(await dashboard.json('/api/nodes'));
    const told = {
      nodes,
      freed: await dashboard.json('/api/freed?from=0'),
      activity: await dashboard.json('/api/activity'),
    };
    await dashboard.stop();
    return { ...told, freed: { ...DashboardFreed.parse(told.freed), knownSinceMs: null } };
  };
  const first = await asked(projection);
  expect(await asked(projection)).toEqual(first);
  expect(await asked(path.replace('event-log.db', 'other.db'))).toEqual(first);
});
