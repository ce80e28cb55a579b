import type { StoredApproval } from '../../../packages/policy/stored-policies.ts';
import { counted } from '../../../packages/text/counted.ts';
import { printableLine } from '../../../packages/text/printable.ts';
import { timeText } from '../../../packages/text/time-text.ts';
import type { ClusterPolicy } from '../../../schemas/policy/cluster-policy.ts';
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
  /** The one for a cluster, paused or not; `null` where none selects it. */
  readonly policyOf: (cluster: string) => ClusterPolicy | null;
}
type Log = Pick<EventLogChoice, 'log' | 'logPath'>;

/** Each hold with the command that approves it. */
export const heldLines = ({ clusters, approvals, policyOf }: Told, log: Log): readonly string[] =>
  [
    ...clusters.flatMap((each) => clusterLines(each, commandsFor(each, policyOf, log))),
    ...approvals.map(approvalLine),
  ].map(printableLine);

/** `null` for what no approval ends. */
type CommandOf = (hold: Hold) => string | null;

const commandsFor =
  ({ cluster }: HeldCluster, policyOf: Told['policyOf'], log: Log): CommandOf =>
  (hold) => {
    const command = approveCommand(cluster, hold, policyOf(cluster));
    return command === null ? null : onEventLog(command, log);
  };

const clusterLines = ({ cluster, heardAtMs, holds }: HeldCluster, commandOf: CommandOf): readonly string[] =>
  holds.length === 0
    ? []
    : [
        `cluster ${cluster}, heard last at ${timeText(heardAtMs)}`,
        ...holds.flatMap((hold) => holdLines(hold, commandOf)),
      ];

function holdLines(hold: Hold, commandOf: CommandOf): readonly string[] {
  const { rule, what, why, objects, sinceMs } = hold;
  const width = what === null ? '' : `, ${counted(widthOf(what), 'object')} in all`;
  const held = `${counted(objects, 'object')} held since ${timeText(sinceMs)}${width}`;
  return [
    `  ${rule}  ${what === null ? why : `${approvedText(what)}: ${why}`}; ${held}`,
    `      ${commandOf(hold) ?? 'No approval ends it.'}`,
  ];
}

/** What programs read. */
export const heldValue = ({ clusters, approvals, policyOf }: Told, log: Log): HeldList => ({
  type: 'fleetgc.held',
  version: 1,
  clusters: clusters.map((each) => {
    const commandOf = commandsFor(each, policyOf, log);
    return { ...each, holds: each.holds.map((hold) => ({ ...hold, approve: commandOf(hold) })) };
  }),
  approvals: [...approvals],
});
