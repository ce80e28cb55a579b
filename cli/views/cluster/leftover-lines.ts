import { printableLine } from '../../../packages/text/printable.ts';
import { timeText } from '../../../packages/text/time-text.ts';
import { kindName } from '../../../schemas/events/cluster-objects.ts';
import type {
  ClusterLeftovers,
  LeftoverReport,
  LeftoverSection,
} from '../../../schemas/reports/cluster-leftovers.ts';
import { tableLines } from '../../framework/output.ts';
import { askedName, nameOf } from './object-text.ts';

/** What seems to be left over, for people. */
export const leftoverLines = ({ takenAt, reports }: ClusterLeftovers): readonly string[] =>
  [
    `At ${timeText(takenAt.serverMs)} by the API server. FleetGC deletes nothing of this.`,
    ...reports.flatMap(sectionLines),
  ].map(printableLine);

/** Each once, as `audit explain` takes it. */
export const leftoverNames = ({ reports }: ClusterLeftovers): readonly string[] => [
  ...new Set(reports.flatMap(({ objects }) => objects.map(askedName))),
];

function sectionLines({ report, unread, objects }: LeftoverSection): readonly string[] {
  if (unread.length > 0)
    return [
      '',
      `${TITLES[report]}: not known`,
      ...unread.map((kind) => `  ${kindName(kind)} cannot be read: ${kind.reason}`),
    ];
  if (objects.length === 0) return ['', `${TITLES[report]}: none`];
  const rows = objects.map((each) => [kindName(each), nameOf(each), each.since ?? 'unknown', each.because]);
  return ['', `${TITLES[report]}: ${objects.length}`, ...tableLines(['KIND', 'NAME', 'SINCE', 'WHY'], rows)];
}

const TITLES: Readonly<Record<LeftoverReport, string>> = {
  'released-volumes': 'Volumes that nobody claims any more',
  'cron-job-histories': 'Jobs beyond the history limits of their CronJob',
  'silent-nodes': 'Nodes that have been silent for an hour or longer',
  'expired-leases': 'Leases that expired an hour ago or earlier',
  unnamed: 'ConfigMaps and Secrets that nothing seems to name, older than a day',
};
