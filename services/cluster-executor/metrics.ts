import type { Count, Metrics } from '../../packages/process/metrics.ts';
import { ClusterAction } from '../../schemas/events/cluster-command.ts';
import { ClusterCommandRefusal, ClusterObjectOutcome } from '../../schemas/events/cluster-result.ts';

const ACTIONS = ClusterAction.options.map(({ shape }) => shape.action.value);
const OUTCOMES = ClusterObjectOutcome.options.map(({ shape }) => shape.outcome.value);

/** What the executor of a cluster counts. */
export interface ExecutorMetrics {
  readonly objects: Count<{ action: typeof ACTIONS; outcome: typeof OUTCOMES }>;
  readonly commands: Count<{ outcome: readonly ('done' | ClusterCommandRefusal)[] }>;
  readonly requests: Count<Record<never, never>>;
}

export const createExecutorMetrics = (metrics: Metrics): ExecutorMetrics => ({
  objects: metrics.count(
    'cluster_executor_objects_total',
    'Objects of commands about clusters, by what was to be done and what became of them.',
    { action: ACTIONS, outcome: OUTCOMES },
  ),
  commands: metrics.count('cluster_executor_commands_total', 'Commands about clusters, by how they ended.', {
    outcome: ['done', ...ClusterCommandRefusal.options],
  }),
  requests: metrics.count(
    'cluster_executor_requests_total',
    'Requests to the API server that carry commands out, reads included.',
    {},
  ),
});

/** Of a running executor. */
export interface Waiting {
  readonly orders: () => number;
  readonly results: () => number;
}

export function addWaitingMetrics(metrics: Metrics, { orders, results }: Waiting): void {
  metrics.gauge('cluster_executor_objects_waiting', 'Objects of commands that are not done.', [], () => [
    [{}, orders()],
  ]);
  metrics.gauge(
    'cluster_executor_results_unpublished',
    'Results that the event log has not acknowledged.',
    [],
    () => [[{}, results()]],
  );
}
