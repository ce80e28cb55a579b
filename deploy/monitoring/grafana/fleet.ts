import { type Dashboard, lines, quantile, query, stat } from './panels.ts';

export const FLEET: Dashboard = {
  uid: 'fleetgc-fleet',
  title: 'FleetGC: nodes',
  rows: [
    {
      title: 'Is somebody missing?',
      panels: [
        stat('Nodes heard', 'In the last five minutes.', 'fleet:fleetgc_nodes_heard:sum'),
        stat(
          'Nodes silent',
          'Heard in the last day, and not in the last five minutes.',
          'fleet:fleetgc_nodes_silent:sum',
        ),
        stat(
          'Nodes on which nothing is removed',
          'By a pause, a policy, their own file, or as policies cannot be read.',
          'sum(max by (instance) (fleetgc_executor_stopped)) or vector(0)',
        ),
        lines(
          'Why nothing is removed',
          'Nodes by reason.',
          'short',
          query('sum by (why) (fleetgc_executor_stopped)', '{{why}}'),
        ),
      ],
    },
    {
      title: 'Space',
      panels: [
        lines(
          'Fullest filesystems',
          'Ten of the fleet.',
          'percentunit',
          query(
            'topk(10, 1 - fleetgc_filesystem_available_bytes / fleetgc_filesystem_capacity_bytes)',
            '{{instance}} {{filesystem}}',
          ),
        ),
        lines(
          'Wanted and freed',
          'Wanted: what reclaims missed when they began. Freed: as measured.',
          'Bps',
          query('fleet:fleetgc_reclaim_wanted_bytes:rate5m', 'wanted'),
          query('kind:fleetgc_executor_freed_bytes:rate5m', 'freed: {{kind}}'),
        ),
        lines(
          'Reclaims',
          'That began, by the threshold that was met, and that ended above their target.',
          'ops',
          query('sum by (signal) (rate(fleetgc_reclaims_total[$__rate_interval]))', '{{signal}}'),
          query(
            'sum(rate(fleetgc_executor_reclaims_unrelieved_total[$__rate_interval])) + sum(rate(fleetgc_reclaims_unrelieved_total[$__rate_interval]))',
            'unrelieved',
          ),
        ),
      ],
    },
    {
      title: 'Removals',
      panels: [
        lines(
          'Objects of commands',
          'By kind and by what became of them.',
          'ops',
          query('kind:fleetgc_executor_objects:rate5m', '{{kind}} {{outcome}}'),
        ),
        lines(
          'Why objects stay',
          'That commands named.',
          'ops',
          query(
            'sum by (outcome, reason) (rate(fleetgc_executor_objects_not_removed_total[$__rate_interval]))',
            '{{outcome}}: {{reason}}',
          ),
        ),
        lines(
          'Images, as the kubelet counts them',
          'To lay beside kubelet_image_garbage_collected_total.',
          'ops',
          query(
            'sum by (reason) (rate(fleetgc_image_garbage_collected_total[$__rate_interval]))',
            '{{reason}}',
          ),
        ),
        lines(
          'How long commands take',
          'Half of them, and all but one of a hundred.',
          's',
          query(quantile(0.5, 'fleetgc_executor_command_duration_seconds', 'kind'), '{{kind}} half'),
          query(quantile(0.99, 'fleetgc_executor_command_duration_seconds', 'kind'), '{{kind}} 99 %'),
        ),
      ],
    },
  ],
};
