import type { AuditSimulation, Regret, SimulationSums } from '../../../schemas/reports/audit-simulation.ts';
import { NOTHING_REMOVED } from './compared-run.ts';
import type { ComparedNode } from './replayed-node.ts';

/** Nodes added up, pool by pool and in all. */
export const totalsOf = (
  compared: readonly ComparedNode[],
): Pick<AuditSimulation, 'nodes' | 'pools' | 'total' | 'regrets'> => ({
  nodes: compared.map(({ node }) => node),
  pools: [...Map.groupBy(compared, ({ node }) => node.pool)]
    .map(([pool, nodes]) => ({ pool, ...added(nodes) }))
    .toSorted((a, b) => ((a.pool ?? '') < (b.pool ?? '') ? -1 : 1)),
  total: added(compared),
  regrets: compared.flatMap(regretsOf).toSorted((a, b) => a.removedAtMs - b.removedAtMs),
});

const added = (compared: readonly ComparedNode[]) => ({
  nodes: compared.length,
  observedMs: compared.reduce((sum, { node }) => sum + node.observedMs, 0),
  unknownMs: compared.reduce((sum, { node }) => sum + node.unknownMs, 0),
  policy: compared.map(({ node }) => node.policy).reduce(add, NONE),
  against: compared.map(({ node }) => node.against).reduce(add, NONE),
});

const NONE: SimulationSums = {
  removed: NOTHING_REMOVED,
  freedBytes: '0',
  unmeasured: 0,
  guessed: 0,
  regrets: 0,
  unrelieved: 0,
  aboveMs: 0,
  peakPercent: null,
};

const add = (a: SimulationSums, b: SimulationSums): SimulationSums => ({
  removed: {
    images: a.removed.images + b.removed.images,
    containers: a.removed.containers + b.removed.containers,
    sandboxes: a.removed.sandboxes + b.removed.sandboxes,
    logs: a.removed.logs + b.removed.logs,
  },
  freedBytes: String(BigInt(a.freedBytes) + BigInt(b.freedBytes)),
  unmeasured: a.unmeasured + b.unmeasured,
  guessed: a.guessed + b.guessed,
  regrets: a.regrets + b.regrets,
  unrelieved: a.unrelieved + b.unrelieved,
  aboveMs: a.aboveMs + b.aboveMs,
  peakPercent:
    a.peakPercent === null || b.peakPercent === null
      ? (a.peakPercent ?? b.peakPercent)
      : Math.max(a.peakPercent, b.peakPercent),
});

const regretsOf = ({ node: { cluster, node }, sides }: ComparedNode): Regret[] =>
  (['policy', 'against'] as const).flatMap((side) =>
    sides[side].regretted.map((image) => ({ side, cluster, node, ...image })),
  );
