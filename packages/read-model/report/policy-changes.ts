import type { EventOf } from '../../../schemas/events/topics.ts';
import { approvalKey } from '../../../schemas/policy/approval.ts';
import type { AuditReport } from '../../../schemas/reports/audit-report.ts';
import type { ClustersReport, GivenApproval } from '../../../schemas/reports/clusters-report.ts';
import type { LogRecord } from '../../log/port.ts';
import { addUnder } from '../../process/add-under.ts';

export interface PolicyChangesTold extends Pick<ClustersReport, 'approvals'> {
  readonly policyChanges: AuditReport['policyChanges'];
  readonly clusterPolicyChanges: ClustersReport['policyChanges'];
}

type Change = Pick<AuditReport['policyChanges'][number], 'name' | 'policyVersion' | 'hash'>;

/** What was applied and approved, in the order of the log. */
export class PolicyChanges {
  readonly #ofNodes: AuditReport['policyChanges'] = [];
  readonly #ofClusters: ClustersReport['policyChanges'] = [];
  /** By record key; each that was given. */
  readonly #approvals = new Map<string, GivenApproval[]>();

  take(event: EventOf<'policyVersions'>, { timestampMs: atMs }: LogRecord): void {
    switch (event.type) {
      case 'fleetgc.policy':
        addNew(this.#ofNodes, { atMs, ...changeOf(event), mode: event.policy.mode });
        break;
      case 'fleetgc.cluster-policy':
        addNew(this.#ofClusters, { atMs, ...changeOf(event), mode: event.policy.mode });
        break;
      case 'fleetgc.approval': {
        const { cluster, what, by, reason, untilMs } = event;
        const given = { cluster, what, by, reason, atMs, untilMs, withdrawnMs: null };
        addUnder(this.#approvals, approvalKey(event), given);
        break;
      }
      case 'fleetgc.policy-deletion':
        this.#withdraw(event.key, atMs);
        break;
      case 'fleetgc.pause':
      case 'fleetgc.policy-set':
        break;
    }
  }

  told(): PolicyChangesTold {
    const approvals = [...this.#approvals.values()].flat().toSorted((a, b) => a.atMs - b.atMs);
    return { policyChanges: this.#ofNodes, clusterPolicyChanges: this.#ofClusters, approvals };
  }

  #withdraw(key: string, atMs: number): void {
    const given = this.#approvals.get(key) ?? [];
    const last = given.at(-1);
    if (last !== undefined && atMs < last.untilMs)
      this.#approvals.set(key, [...given.slice(0, -1), { ...last, withdrawnMs: atMs }]);
  }
}

interface AppliedPolicy {
  readonly policy: { readonly name: string };
  readonly policyVersion: number;
  readonly hash: string;
}

const changeOf = ({ policy: { name }, policyVersion, hash }: AppliedPolicy): Change => ({
  name,
  policyVersion,
  hash,
});

/** Written once more as it was: it was signed again. */
function addNew<One extends Change>(changes: One[], change: One): void {
  const before = changes.findLast(({ name }) => name === change.name);
  if (before?.policyVersion !== change.policyVersion || before.hash !== change.hash) changes.push(change);
}
