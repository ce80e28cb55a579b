import { approvalsInForce } from '../../../schemas/policy/approval.ts';
import { selectPolicy } from '../../../schemas/policy/policy-selection.ts';
import type { ClusterStatus, ClusterWarning } from '../../../schemas/reports/cluster-status.ts';
import { splitUnread } from '../../decision/left-out-kinds.ts';
import { CLUSTER_SILENT_AFTER_MS } from '../../fleet-watch/cluster-watch.ts';
import type { StoredPolicies } from '../../policy/stored-policies.ts';
import { leastOf } from '../../process/least-and-most.ts';
import { counted } from '../../text/counted.ts';
import type { ReportingCluster } from './reporting-clusters.ts';

/** Whether a cluster counts as silent that was heard last at `heardMs`. */
export const isSilentCluster = (heardMs: number, nowMs: number): boolean =>
  nowMs - heardMs > CLUSTER_SILENT_AFTER_MS;

/** How a cluster stands; `stored` is `null` where the policies cannot be read. */
export function clusterStatus(
  reporting: ReportingCluster,
  stored: StoredPolicies | null,
  nowMs: number,
): ClusterStatus {
  const { cluster, clusterInstance, heardMs, census, held, unanswered } = reporting;
  const holds = held?.holds ?? [];
  const status = {
    cluster,
    clusterInstance,
    heardMs,
    isSilent: isSilentCluster(heardMs, nowMs),
    objects: census?.totals.objects ?? null,
    ...selectionOf(cluster, stored),
    held: holds.reduce((sum, { objects }) => sum + objects, 0),
    heldSinceMs: holds.length === 0 ? null : leastOf(holds.map(({ sinceMs }) => sinceMs)),
    approvals: approvalsInForce([...(stored?.approvals.values() ?? [])], reporting, nowMs).length,
    unanswered: unanswered.commands,
    unansweredSinceMs: unanswered.sinceMs,
  };
  return { ...status, warnings: warningsOf(status, { census, held }) };
}

function selectionOf(
  cluster: string,
  stored: StoredPolicies | null,
): Pick<ClusterStatus, 'policy' | 'pausedBecause'> {
  if (stored === null) return { policy: null, pausedBecause: null };
  const set = stored.sets.cluster;
  const paused = selectPolicy(set, { cluster });
  const selected = selectPolicy({ ...set, pauses: [] }, { cluster });
  return {
    policy:
      selected.kind === 'policy'
        ? {
            name: selected.record.policy.name,
            policyVersion: selected.record.policyVersion,
            mode: selected.record.policy.mode,
          }
        : null,
    pausedBecause: paused.kind === 'paused' ? paused.pause.reason : null,
  };
}

type Known = Omit<ClusterStatus, 'warnings'>;

function warningsOf(
  { isSilent, held, unanswered }: Known,
  { census, held: reported }: Pick<ReportingCluster, 'census' | 'held'>,
): ClusterWarning[] {
  const { unsyncedKinds = [], failedGroups = [], stuckFinalizers } = census?.findings ?? {};
  const unread = splitUnread(unsyncedKinds).expected.length + failedGroups.length;
  const stuck = stuckFinalizers?.count ?? 0;
  return [
    ...warning('silent', isSilent, 'its agent is not heard any more: does it run, and reach the log?'),
    ...warning('held', held > 0, `${counted(held, 'object is', 'objects are')} held: see fleetgc held`),
    ...warning(
      'too-costly',
      reported?.tooCostly ?? false,
      'a decision would take too many steps, so everything is kept: give its policy fewer names',
    ),
    ...warning(
      'unanswered',
      unanswered > 0,
      `${counted(unanswered, 'command')} of the last half hour ended without an answer: does its executor run?`,
    ),
    ...warning(
      'unread-kinds',
      unread > 0,
      `${counted(unread, 'kind or group', 'kinds or groups')} cannot be read: see fleetgc cluster report`,
    ),
    ...warning(
      'stuck-finalizers',
      stuck > 0,
      `${counted(stuck, 'object waits', 'objects wait')} for finalizers of others: see fleetgc cluster report`,
    ),
  ];
}

const warning = (kind: ClusterWarning['kind'], is: boolean, message: string): ClusterWarning[] =>
  is ? [{ kind, message }] : [];
