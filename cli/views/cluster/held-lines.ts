import type { StoredApproval } from '../../../packages/policy/stored-policies.ts';
import { counted } from '../../../packages/text/counted.ts';
import { printableLine } from '../../../packages/text/printable.ts';
import { timeText } from '../../../packages/text/time-text.ts';
import type { HeldList } from '../../../schemas/reports/policy-list.ts';
import { approveCommand, approvedText } from '../../../services/cluster-holds/approving.ts';
import { type Hold, widthOf } from '../../../services/cluster-holds/holds.ts';
import type { HeldCluster } from '../../../services/cluster-holds/read-holds.ts';
import { onEventLog } from '../../options/approval-options.ts';
import type { EventLogChoice } from '../../options/event-log-options.ts';
import { approvalLine } from './approval-line.ts';

interface Told {
  readonly clusters: readonly HeldCluster[];
  readonly approvals: readonly StoredApproval[];
}
type Log = Pick<EventLogChoice, 'log' | 'logPath'>;

/** Each hold with the command that approves it. */
export const heldLines = ({ clusters, approvals }: Told, log: Log): readonly string[] =>
  [...clusters.flatMap((each) => clusterLines(each, log)), ...approvals.map(approvalLine)].map(printableLine);

const clusterLines = ({ cluster, heardAtMs, holds }: HeldCluster, log: Log): readonly string[] =>
  holds.length === 0
    ? []
    : [
        `cluster ${cluster}, heard last at ${timeText(heardAtMs)}`,
        ...holds.flatMap((hold) => holdLines(cluster, hold, log)),
      ];

function holdLines(cluster: string, hold: Hold, log: Log): readonly string[] {
  const { rule, what, why, objects, sinceMs } = hold;
  const width = what === null ? '' : `, ${counted(widthOf(what), 'object')} in all`;
  const held = `${counted(objects, 'object')} held since ${timeText(sinceMs)}${width}`;
  const command = approveCommand(cluster, hold);
  return [
    `  ${rule}  ${what === null ? why : `${approvedText(what)}: ${why}`}; ${held}`,
    `      ${command === null ? 'No approval ends it.' : onEventLog(command, log)}`,
  ];
}

/** What programs read. */
export const heldValue = ({ clusters, approvals }: Told, log: Log): HeldList => ({
  type: 'fleetgc.held',
  version: 1,
  clusters: clusters.map(({ holds, ...cluster }) => ({
    ...cluster,
    holds: holds.map((hold) => {
      const command = approveCommand(cluster.cluster, hold);
      return { ...hold, approve: command === null ? null : onEventLog(command, log) };
    }),
  })),
  approvals: [...approvals],
});
