import type { Count, Metrics, Occurrences } from '../../../packages/process/metrics.ts';
import { ClusterAction } from '../../../schemas/events/cluster-command.ts';
import { ClusterCommandRefusal, ClusterObjectOutcome } from '../../../schemas/events/cluster-result.ts';
import type { ClusterPolicyInForce } from './ports.ts';

const ACTIONS = ClusterAction.options.map(({ shape }) => shape.action.value);
const OUTCOMES = ClusterObjectOutcome.options.map(({ shape }) => shape.outcome.value);

/** What the executor of a cluster counts. */
export interface ExecutorMetrics {
  readonly objects: Count<{ action: typeof ACTIONS; outcome: typeof OUTCOMES }>;
  /** Why objects stay as they are. */
  readonly stayed: Occurrences<'outcome' | 'reason'>;
  readonly commands: Count<{ outcome: readonly ('done' | ClusterCommandRefusal)[] }>;
  readonly requests: Count<Record<never, never>>;
}

export const createExecutorMetrics = (metrics: Metrics): ExecutorMetrics => ({
  objects: metrics.count(
    'cluster_executor_objects_total',
    'Objects of commands about clusters, by what was to be done and what became of them.',
    { action: ACTIONS, outcome: OUTCOMES },
  ),
  stayed: metrics.occurrences(
    'cluster_executor_objects_not_done_total',
    'Objects of commands about clusters that were refused, or failed, by why.',
    ['outcome', 'reason'],
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
  /** Objects that an earlier executor announced, and of which nothing is reported. */
  readonly announced: () => number;
  /** Of them, those of which the API server does not tell. */
  readonly announcedUnseen: () => number;
}

export function addWaitingMetrics(metrics: Metrics, waiting: Waiting): void {
  metrics.gauge('cluster_executor_objects_waiting', 'Objects of commands that are not done.', [], () => [
    [{}, waiting.orders()],
  ]);
  metrics.gauge(
    'cluster_executor_results_unpublished',
    'Results that the event log has not acknowledged.',
    [],
    () => [[{}, waiting.results()]],
  );
  metrics.gauge(
    'cluster_executor_announced_open',
    'Objects that an earlier executor announced, and of which nothing is reported yet.',
    [],
    () => [[{}, waiting.announced()]],
  );
  metrics.gauge(
    'cluster_executor_announced_unseen',
    'Of them, those of which the API server does not tell although it answers.',
    [],
    () => [[{}, waiting.announcedUnseen()]],
  );
}

type Stop = 'paused' | 'not-enforced' | 'policies-unreadable' | 'local-hold';

interface Stoppable {
  readonly policy: () => ClusterPolicyInForce;
  /** Why the cluster's own file holds everything; `null` where it does not. */
  readonly localHold: () => string | null;
}

/** Says why nothing is done. */
export function addStopMetrics(metrics: Metrics, { policy, localHold }: Stoppable): void {
  metrics.gauge(
    'cluster_executor_stopped',
    '1 while nothing is done in this cluster for this reason.',
    ['why'],
    () => {
      const inForce = policy();
      const stops: Readonly<Record<Stop, boolean>> = {
        paused: inForce.kind === 'paused',
        'not-enforced':
          inForce.kind === 'none' || (inForce.kind === 'policy' && inForce.record.policy.mode !== 'enforce'),
        'policies-unreadable': inForce.kind === 'unreadable',
        'local-hold': localHold() !== null,
      };
      return Object.entries(stops).map(([why, isSo]) => [{ why }, Number(isSo)]);
    },
  );
}
