import type { Logger } from 'pino';
import type { ServerClock } from '../../../packages/kube-api/server-clock.ts';
import { WATCH_ENDS, type WatchEnd } from '../../../packages/kube-api/watch.ts';
import type { ResourceKind } from '../../../packages/owner-graph/kinds.ts';
import type { Metrics, Reading } from '../../../packages/process/metrics.ts';
import { kindName } from '../../../schemas/events/cluster-objects.ts';
import type { PodTotals } from './pods.ts';
import type { AgentFigures } from './session.ts';

interface Observed {
  readonly agent: { readonly figures: AgentFigures | null };
  readonly clock: Pick<ServerClock, 'silentForMs'>;
  /** Milliseconds that only grow. */
  readonly nowMs: () => number;
}

/** What is not known is not there. */
export function addAgentMetrics(metrics: Metrics, { agent, clock, nowMs }: Observed): void {
  metrics.gauge('cluster_agent_objects', 'Objects that the agent knows.', [], () =>
    readings(agent.figures?.objects ?? null),
  );
  metrics.gauge('cluster_agent_kinds', 'Kinds of object that are watched.', [], () =>
    readings(agent.figures?.kinds ?? null),
  );
  metrics.gauge(
    'cluster_agent_unsynced_kinds',
    'Of them, kinds that cannot be read at the moment, but for those that the printed role leaves out.',
    [],
    () => readings(agent.figures?.unsyncedKinds ?? null),
  );
  metrics.gauge(
    'cluster_agent_candidates',
    'Objects for which something may have to be done, held ones among them.',
    [],
    () => readings(agent.figures?.candidates ?? null),
  );
  metrics.gauge(
    'cluster_agent_unpublished_seconds',
    'For how long the oldest fact waits that the event log has not taken; 0 where none does.',
    [],
    () => {
      const forMs = agent.figures?.unpublishedForMs ?? null;
      return readings(forMs && forMs / 1_000);
    },
  );
  const pods = (count: (totals: PodTotals) => number): readonly Reading[] => {
    const totals = agent.figures?.pods ?? null;
    return readings(totals && count(totals));
  };
  metrics.gauge('cluster_agent_pods_terminated', 'Pods that have ended.', [], () =>
    pods(({ terminated }) => terminated),
  );
  metrics.gauge('cluster_agent_pods_on_missing_nodes', 'Pods whose node is missing.', [], () =>
    pods(({ onMissingNodes }) => onMissingNodes),
  );
  metrics.gauge(
    'cluster_agent_pods_of_earlier_nodes',
    'Pods that were bound before the node of that name was there; they stay.',
    [],
    () => pods(({ onReplacedNodes }) => onReplacedNodes),
  );
  metrics.gauge('cluster_api_silent_seconds', 'Time since the last answer of the API server.', [], () => {
    const silentMs = clock.silentForMs(nowMs());
    return readings(silentMs === null ? null : silentMs / 1_000);
  });
}

/** Counts watches that ended, and says where that cannot be well. */
export function tellWatchEnds(
  metrics: Metrics,
  logger: Pick<Logger, 'error' | 'warn'>,
): (kind: ResourceKind, end: WatchEnd) => void {
  const ended = metrics.count(
    'cluster_agent_watches_ended_total',
    'Watches that ended, by why; after all but closed, silent and not-now the kind is listed again.',
    { why: WATCH_ENDS },
  );
  return (kind, { why, message }) => {
    ended.add({ why });
    if (why === 'unreadable')
      logger.warn(`the watch of ${kindName(kind)} ended: ${message}; it is listed again`);
    if (why === 'held-back') logger.error(`the watch of ${kindName(kind)}: ${message}`);
  };
}

const readings = (value: number | null): readonly Reading[] => (value === null ? [] : [[{}, value]]);
