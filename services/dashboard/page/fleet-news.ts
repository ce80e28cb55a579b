import type { DashboardFleet, DashboardNews } from '../../../schemas/reports/dashboard.ts';

/** The fleet with what is new. A node that was not there before comes with the whole fleet, which is asked for again and again. */
export function withNews(fleet: DashboardFleet, { nodes, readAtMs }: DashboardNews): DashboardFleet {
  const { columns, clusters } = fleet;
  const changed = new Map(nodes.map((node) => [`${node.cluster}/${node.node}`, node]));
  const used = [...columns.used];
  const state = [...columns.state];
  const isPaused = [...columns.isPaused];
  const hasPolicy = [...columns.hasPolicy];
  columns.node.forEach((node, position) => {
    const now = changed.get(`${clusters[columns.cluster[position] ?? 0]}/${node}`);
    if (now === undefined) return;
    used[position] = now.used;
    state[position] = now.state;
    isPaused[position] = now.isPaused;
    hasPolicy[position] = now.hasPolicy;
  });
  return { ...fleet, readAtMs, columns: { ...columns, used, state, isPaused, hasPolicy } };
}
