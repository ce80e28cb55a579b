import { nodeOutput } from '../../../../packages/decision/handler.ts';
import type { LogPublisher } from '../../../../packages/log/port.ts';
import { DashboardFreed, DashboardNodes } from '../../../../schemas/reports/dashboard.ts';
import { diskStats } from '../../../fixtures/disk-stats.ts';
import { inventory } from '../../../fixtures/inventory.ts';
import { objectResult } from '../../../fixtures/results.ts';
import { instant } from '../../../fixtures/time.ts';
import { outgoing } from '../../../support/logs/log-record.ts';
import { publishWithPositions } from '../../../support/logs/positions.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import type { Dashboard } from './dashboard.ts';

/** What a node tells in a minute, where it lies, and one removal. */
export async function tell(log: LogPublisher, node: string): Promise<void> {
  const takenAt = instant({ wallTimeMs: Date.now() });
  await publishWithPositions(log, [
    outgoing(nodeOutput('diskStats', diskStats({}, { id: `stats-${node}`, node, takenAt }))),
    outgoing(nodeOutput('inventory', inventory({ id: `inventory-${node}`, node, takenAt }))),
    outgoing(nodeOutput('results', objectResult({ id: `result-${node}`, node }))),
  ]);
}

export interface Told {
  readonly nodes: readonly string[];
  /** Removals. */
  readonly objects: number;
}

export async function toldBy(dashboard: Dashboard): Promise<Told> {
  const { nodes } = DashboardNodes.parse(await dashboard.json('/api/nodes'));
  const { objects } = DashboardFreed.parse(await dashboard.json('/api/freed?from=0'));
  return { nodes: nodes.map(({ node }) => node), objects };
}

/** Waits until exactly these nodes and as many removals are told. */
export async function untilTold(dashboard: Dashboard, ...nodes: readonly string[]): Promise<void> {
  await waitUntil(`${nodes.join(', ')} to be told`, 60_000, async () => {
    const told = await toldBy(dashboard);
    return told.objects === nodes.length && told.nodes.join() === nodes.join();
  });
}
