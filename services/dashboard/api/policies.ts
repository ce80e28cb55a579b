import { selectorText } from '../../../packages/policy/selector-text.ts';
import type { StoredPolicies } from '../../../packages/policy/stored-policies.ts';
import { nodesUnder } from '../../../packages/read-model/nodes.ts';
import { nodeKey } from '../../../schemas/events/identity.ts';
import { compareText } from '../../../schemas/events/text-order.ts';
import type { ClusterPolicyRecord } from '../../../schemas/policy/cluster-policy.ts';
import type { PolicyRecord, PolicySet } from '../../../schemas/policy/policy.ts';
import { type SelectableNode, selects } from '../../../schemas/policy/policy-selection.ts';
import type { DashboardPauses } from '../../../schemas/reports/dashboard-actions.ts';
import type { DashboardPolicies, DashboardPolicy } from '../../../schemas/reports/dashboard-policies.ts';
import type { FleetNode } from '../../../schemas/reports/fleet-nodes.ts';

const MOST_NODES = 50;

export interface PoliciesNeeds {
  readonly policies: PolicySet;
  readonly clusterPolicies: readonly ClusterPolicyRecord[];
  readonly nodes: readonly FleetNode[];
}

type Listed = DashboardPolicies['policies'][number];

/** Every policy in force, and for how many nodes it holds. */
export const readPolicies = (needs: PoliciesNeeds): DashboardPolicies => ({
  policies: [
    ...needs.policies.policies.map((record) => nodePolicy(record, needs.nodes)),
    ...needs.clusterPolicies.map(clusterPolicy),
  ].toSorted((a, b) => compareText(a.subject, b.subject) * -1 || compareText(a.name, b.name)),
});

/** One of them with its text; `null` where there is none of this name. */
export function readPolicy(
  { policies, clusterPolicies, nodes }: PoliciesNeeds,
  { subject, name }: Pick<Listed, 'subject' | 'name'>,
): DashboardPolicy | null {
  if (subject === 'cluster') {
    const record = clusterPolicies.find(({ policy }) => policy.name === name);
    return record === undefined ? null : { ...clusterPolicy(record), source: record.source, someNodes: [] };
  }
  const record = policies.policies.find(({ policy }) => policy.name === name);
  if (record === undefined) return null;
  const someNodes = nodesUnder(name, nodes).slice(0, MOST_NODES).map(nodeKey);
  return { ...nodePolicy(record, nodes), source: record.source, someNodes };
}

const nodePolicy = (
  { policy: { name, mode }, policyVersion, hash }: PolicyRecord,
  nodes: readonly FleetNode[],
): Listed => ({ subject: 'node', name, policyVersion, hash, mode, nodes: nodesUnder(name, nodes).length });

const clusterPolicy = ({ policy: { name, mode }, policyVersion, hash }: ClusterPolicyRecord): Listed => ({
  subject: 'cluster',
  name,
  policyVersion,
  hash,
  mode,
  nodes: null,
});

/** The pauses that stand on the log, or of them those that hold one node; those that were begun last first. */
export const readPauses = (
  pauses: StoredPolicies['pauses'],
  node: SelectableNode | null,
): DashboardPauses => ({
  pauses: [...pauses.values()]
    .filter(({ selector }) => node === null || selects(selector, node))
    .toSorted((a, b) => b.appliedAtMs - a.appliedAtMs)
    .map(({ selector, reason, by = null, appliedAtMs }) => ({
      selector,
      text: selectorText(selector),
      reason,
      by,
      sinceMs: appliedAtMs,
    })),
});
