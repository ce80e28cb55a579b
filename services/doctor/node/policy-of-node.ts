import { selectPolicy } from '../../../schemas/policy/policy-selection.ts';
import type { Looked } from '../finding.ts';
import type { NameFacts } from '../findings/machine.ts';
import type { PolicyFacts } from '../findings/steering.ts';
import type { JudgedPolicies } from '../log/look-at-log.ts';

/** What of the policies holds for this node; `null` where nobody knows which one it is. */
export function policyOfNode(
  name: Looked<NameFacts>,
  policies: () => Promise<Looked<JudgedPolicies>>,
): Promise<Looked<PolicyFacts>> | null {
  if (!name.ok) return null;
  const { labels: nodeLabels, ...node } = name.value;
  return policies().then((found) =>
    found.ok ? { ok: true, value: factsOf(found.value, { ...node, nodeLabels }) } : found,
  );
}

const factsOf = (
  { stored, areSignaturesMissing }: JudgedPolicies,
  node: Parameters<typeof selectPolicy<'node'>>[1],
): PolicyFacts => ({
  selection: selectPolicy(stored.sets.node, node),
  policies: stored.sets.node.policies.length,
  unreadable: stored.unreadable,
  lost: stored.lost,
  areSignaturesMissing,
});
