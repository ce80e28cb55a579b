import type { ServerClock } from '../../packages/kube-api/server-clock.ts';
import type { Metrics, Reading } from '../../packages/process/metrics.ts';
import type { ClusterAgent } from './agent.ts';
import type { AgentFigures } from './session.ts';

export interface Observed {
  readonly agent: Pick<ClusterAgent, 'figures'>;
  readonly clock: Pick<ServerClock, 'silentForMs'>;
  /** Milliseconds that only grow. */
  readonly nowMs: () => number;
}

const FIGURES: readonly (readonly [name: string, help: string, figure: keyof AgentFigures])[] = [
  ['cluster_agent_objects', 'Objects that the agent knows.', 'objects'],
  ['cluster_agent_kinds', 'Kinds of object that are watched.', 'kinds'],
  [
    'cluster_agent_unsynced_kinds',
    'Of them, kinds that cannot be read at the moment, from which nothing is concluded.',
    'unsyncedKinds',
  ],
  [
    'cluster_agent_candidates',
    'Objects for which something may have to be done, held ones among them.',
    'candidates',
  ],
];

/** What is not known is not there. */
export function addAgentMetrics(metrics: Metrics, { agent, clock, nowMs }: Observed): void {
  for (const [name, help, figure] of FIGURES)
    metrics.gauge(name, help, [], () => readings(agent.figures?.[figure] ?? null));
  metrics.gauge('cluster_api_silent_seconds', 'Time since the last answer of the API server.', [], () => {
    const silentMs = clock.silentForMs(nowMs());
    return readings(silentMs === null ? null : silentMs / 1_000);
  });
}

const readings = (value: number | null): readonly Reading[] => (value === null ? [] : [[{}, value]]);
