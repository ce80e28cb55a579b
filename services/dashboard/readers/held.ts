import { onEmbeddedLog } from '../../../packages/policy/ending-commands.ts';
import { readPoliciesBy } from '../../../packages/policy/stored-policies.ts';
import { DAY_MS } from '../../../packages/process/durations.ts';
import type { DashboardHeld } from '../../../schemas/reports/dashboard-clusters.ts';
import { approvalsNow, heldList, policyFinder } from '../../cluster-holds/held-list.ts';
import { readHolds } from '../../cluster-holds/read-holds.ts';
import type { LogSource } from '../projection/standing.ts';

/** What `fleetgc held --cluster NAME` tells, from the log as it is, and the limits of the policy that holds there. */
export async function readHeld(
  { from, roots, nowMs }: LogSource,
  cluster: string,
  signal: AbortSignal,
): Promise<DashboardHeld> {
  const clusters = await readHolds(from.log, { cluster, fromMs: nowMs - DAY_MS }, signal);
  const stored = await readPoliciesBy(roots, from.log, signal);
  const policyOf = policyFinder(stored.sets.cluster);
  const approvals = approvalsNow(stored.approvals.values(), nowMs).filter((each) => each.cluster === cluster);
  const onLog = (command: string): string =>
    from.kind === 'embedded' ? onEmbeddedLog(command, from.path) : command;
  const policy = policyOf(cluster);
  return {
    readAtMs: nowMs,
    held: heldList({ clusters, approvals, policyOf, onLog }),
    policy: policy && {
      name: policy.name,
      mode: policy.mode,
      profile: policy.profile,
      limits: policy.limits,
    },
  };
}
