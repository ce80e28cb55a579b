import type { ClusterPolicy } from '../../../schemas/policy/cluster-policy.ts';
import type { PolicySetOf } from '../../../schemas/policy/policy.ts';
import { selectPolicy } from '../../../schemas/policy/policy-selection.ts';
import type { HeldList } from '../../../schemas/reports/policy-list.ts';
import { approveCommand } from './approving.ts';
import type { Hold } from './holds.ts';
import type { HeldCluster } from './read-holds.ts';

type ListedApproval = HeldList['approvals'][number];

/** What is told of holds. */
export interface ToldHolds {
  readonly clusters: readonly HeldCluster[];
  readonly approvals: readonly ListedApproval[];
  /** The one for a cluster, paused or not; `null` where none selects it. */
  readonly policyOf: (cluster: string) => ClusterPolicy | null;
  /** The same command for the log that was read. */
  readonly onLog: (command: string) => string;
}

/** The command that approves a hold; `null` for what no approval ends. */
export function commandFor(
  { cluster }: Pick<HeldCluster, 'cluster'>,
  hold: Hold,
  { policyOf, onLog }: Pick<ToldHolds, 'policyOf' | 'onLog'>,
): string | null {
  const command = approveCommand(cluster, hold, policyOf(cluster));
  return command === null ? null : onLog(command);
}

/** What programs read. */
export const heldList = (told: ToldHolds): HeldList => ({
  type: 'fleetgc.held',
  version: 1,
  clusters: told.clusters.map((each) => ({
    ...each,
    holds: each.holds.map((hold) => ({ ...hold, approve: commandFor(each, hold, told) })),
  })),
  approvals: [...told.approvals],
});

/** Those that have not ended by this clock, epoch milliseconds. */
export const approvalsNow = <Approval extends Pick<ListedApproval, 'untilMs'>>(
  approvals: Iterable<Approval>,
  nowMs: number,
): readonly Approval[] => [...approvals].filter(({ untilMs }) => nowMs < untilMs);

/** Which policy is for a cluster, whether or not a pause outranks it. */
export function policyFinder(set: PolicySetOf<'cluster'>): ToldHolds['policyOf'] {
  const policies = { ...set, pauses: [] };
  return (cluster) => {
    const selected = selectPolicy(policies, { cluster });
    return selected.kind === 'policy' ? selected.record.policy : null;
  };
}
