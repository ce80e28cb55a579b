import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openArchiveLog } from '../../../packages/archive/read-archive.ts';
import { inventoryTimes } from '../../../packages/audit/events/reading.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { DashboardPlan } from '../../../schemas/reports/dashboard-plan.ts';
import { ownLog } from '../../cli/fleetgc.ts';
import { archived } from '../../packages/audit/support/archives.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { dashboardOf } from './support/dashboard.ts';
import { tell, untilTold } from './support/telling.ts';

test('an archive is shown as it was at its end: nodes, removals and what would go next', async () => {
  const { log } = await ownLog();
  for (const node of ['node-1', 'node-2']) await tell(log, node);
  const directory = join(temporaryDirectory(), 'archive');
  await archived(log, directory);
  const archive = await openArchiveLog(directory);
  // After the dashboard, which began later, has ended.
  onTestFinished(() => archive[Symbol.asyncDispose]());
  const running = new AbortController().signal;
  const times = await inventoryTimes(archive, Date.now(), running);
  if (times === null) throw new Error('no inventory was archived');
  const dashboard = await dashboardOf(log, {
    from: { kind: 'archive', log: archive, name: `archive ${directory}`, endMs: times.lastMs },
    now: () => Date.now() + 400 * 24 * 60 * 60 * 1000,
  });
  await untilTold(dashboard, 'node-1', 'node-2');
  expect(await dashboard.json('/api/status')).toEqual({ status: null });
  // Inventories are read after nodes are known.
  const plan = await waitUntil('the inventory to be known', 60_000, async () => {
    const answer = DashboardPlan.safeParse(await dashboard.json('/api/plan?cluster=prod&node=node-1'));
    return answer.success && answer.data.plan;
  });
  expect(plan.inventory.id).toBe('inventory-node-1');
  expect(await dashboard.json('/api/progress')).toMatchObject({
    topics: expect.arrayContaining([expect.objectContaining({ topic: TOPICS.results.name })]),
  });
});
