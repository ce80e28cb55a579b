import { type Dashboard, lines, query } from './panels.ts';

export const CLUSTERS: Dashboard = {
  uid: 'fleetgc-clusters',
  title: 'FleetGC: clusters',
  rows: [
    {
      title: 'What is held, and what is stopped',
      panels: [
        lines(
          'Held objects',
          'By the rule that holds them; fleetgc held lists them.',
          'short',
          query('sum by (decider, rule) (fleetgc_objects_held) or vector(0)', '{{decider}} {{rule}}'),
        ),
        lines(
          'Clusters in which nothing is done',
          'By reason.',
          'short',
          query('sum by (why) (fleetgc_cluster_executor_stopped)', '{{why}}'),
        ),
        lines(
          'Silence of API servers',
          'Time since the last answer.',
          's',
          query('fleetgc_cluster_api_silent_seconds', '{{instance}}'),
        ),
      ],
    },
    {
      title: 'What is known',
      panels: [
        lines(
          'Objects',
          'That agents know.',
          'short',
          query('fleetgc_cluster_agent_objects', '{{instance}}'),
        ),
        lines(
          'Candidates',
          'Held ones among them.',
          'short',
          query('fleetgc_cluster_agent_candidates', '{{instance}}'),
        ),
        lines(
          'Kinds that cannot be read',
          'Nothing goes that they may own.',
          'short',
          query('fleetgc_cluster_agent_unsynced_kinds', '{{instance}}'),
        ),
        lines(
          'Pods',
          'That ended, and whose node is missing.',
          'short',
          query('fleetgc_cluster_agent_pods_terminated', '{{instance}} ended'),
          query('fleetgc_cluster_agent_pods_on_missing_nodes', '{{instance}} node missing'),
        ),
      ],
    },
    {
      title: 'What is done',
      panels: [
        lines(
          'Objects of commands',
          'By what was to be done and what became of them.',
          'ops',
          query('action:fleetgc_cluster_executor_objects:rate5m', '{{action}} {{outcome}}'),
        ),
        lines(
          'Why objects stay',
          'That commands named.',
          'ops',
          query(
            'sum by (outcome, reason) (rate(fleetgc_cluster_executor_objects_not_done_total[$__rate_interval]))',
            '{{outcome}}: {{reason}}',
          ),
        ),
        lines(
          'Requests to API servers',
          'Of executors, reads included.',
          'ops',
          query('rate(fleetgc_cluster_executor_requests_total[$__rate_interval])', '{{instance}}'),
        ),
      ],
    },
  ],
};
