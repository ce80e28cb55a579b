import { type Approved, approvedName } from '../../../schemas/policy/approval.ts';
import type { DashboardHeld } from '../../../schemas/reports/dashboard-clusters.ts';
import { onEmbeddedLog } from '../../policy/ending-commands.ts';
import { readPoliciesBy } from '../../policy/stored-policies.ts';
import { DAY_MS } from '../../process/durations.ts';
import { approvedText, neededHours, shownMark } from '../cluster-holds/approving.ts';
import { approvalsNow, heldList, policyFinder } from '../cluster-holds/held-list.ts';
import { widthOf } from '../cluster-holds/holds.ts';
import { readHolds } from '../cluster-holds/read-holds.ts';
import type { LogSource } from '../projection/standing.ts';

/** What `fleetgc held --cluster NAME` tells, from the log as it is, and the limits of the policy that holds there. */
export async function readHeld(
  { from, roots, nowMs }: LogSource,
  cluster: string,
  signal: AbortSignal,
): Promise<DashboardHeld> {
  const stored = await readPoliciesBy(roots, from.log, signal);
  const policies = stored.sets.cluster;
  const reading = { cluster, fromMs: nowMs - DAY_MS, policies, roots, nowMs };
  const clusters = await readHolds(from.log, reading, signal);
  const policyOf = policyFinder(stored.sets.cluster);
  const approvals = approvalsNow(stored.approvals.values(), nowMs).filter((each) => each.cluster === cluster);
  const onLog = (command: string): string =>
    from.kind === 'embedded' ? onEmbeddedLog(command, from.path) : command;
  const policy = policyOf(cluster);
  const held = heldList({ clusters, approvals, policyOf, onLog });
  return {
    readAtMs: nowMs,
    held,
    holdWords: held.clusters.flatMap(({ holds }) =>
      holds.map(({ what }) => what && { ...wordsOf(what), neededHours: neededHours(what, policy) }),
    ),
    approvalWords: approvals.map(({ what }) => wordsOf(what)),
    policy: policy && {
      name: policy.name,
      mode: policy.mode,
      profile: policy.profile,
      limits: policy.limits,
    },
  };
}

const wordsOf = (what: Approved): DashboardHeld['approvalWords'][number] => ({
  text: approvedText(what),
  name: approvedName(what),
  as: what.kind,
  objects: widthOf(what),
  shown: shownMark(what),
});
