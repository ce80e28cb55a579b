import { type Dashboard, lines, quantile, query, stat } from './panels.ts';

export const DECISIONS: Dashboard = {
  uid: 'fleetgc-decisions',
  title: 'FleetGC: decisions and event log',
  rows: [
    {
      title: 'Does everybody answer?',
      panels: [
        lines(
          'Messages that wait',
          'By decision service.',
          'short',
          query('decider:fleetgc_lag_messages:sum', '{{decider}}'),
        ),
        lines(
          'Time since the last decision',
          'Grows where nothing comes, too.',
          's',
          query('decider:fleetgc_last_decision_age_seconds:min', '{{decider}}'),
        ),
        lines(
          'Age of the newest message',
          'By topic. Disk statistics come every minute.',
          's',
          query('topic:fleetgc_newest_message_age_seconds:min', '{{topic}}'),
        ),
        lines(
          'From a message to what follows from it',
          'All but one of a hundred.',
          's',
          query(quantile(0.99, 'fleetgc_event_to_output_seconds', 'consumer'), '{{consumer}}'),
        ),
      ],
    },
    {
      title: 'What is decided',
      panels: [
        lines(
          'Decisions',
          'By what came of them.',
          'ops',
          query('decider:fleetgc_decisions:rate5m', '{{decider}} {{outcome}}'),
        ),
        lines(
          'Why objects are kept',
          'Each as often as it is judged, by rule.',
          'ops',
          query(
            'topk(15, sum by (decider, rule) (rate(fleetgc_objects_judged_total{action="keep"}[$__rate_interval])))',
            '{{decider}} {{rule}}',
          ),
        ),
        lines(
          'How long one decision takes',
          'All but one of a hundred.',
          's',
          query(quantile(0.99, 'fleetgc_decision_duration_seconds', 'consumer'), '{{consumer}}'),
        ),
      ],
    },
    {
      title: 'What went wrong',
      panels: [
        lines(
          'Dead letters',
          'By cause.',
          'ops',
          query('sum by (cause) (rate(fleetgc_dead_letters_total[$__rate_interval]))', '{{cause}}'),
          query('sum(rate(fleetgc_dead_letters_suppressed_total[$__rate_interval]))', 'only counted'),
        ),
        stat('Pauses', 'In force at this moment.', 'max(fleetgc_pauses)'),
        stat('Processes that cannot read policies', '', 'count(fleetgc_policies_readable == 0) or vector(0)'),
        lines(
          'Memory',
          'By kind of process: the largest.',
          'bytes',
          query(
            'max by (service) (process_resident_memory_bytes * on (job, instance) group_left (service) fleetgc_build_info)',
            '{{service}}',
          ),
        ),
      ],
    },
  ],
};
