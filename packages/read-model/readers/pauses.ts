import { type SelectableNode, selects } from '../../../schemas/policy/policy-selection.ts';
import type { DashboardPauses } from '../../../schemas/reports/dashboard-actions.ts';
import { selectorText } from '../../policy/selector-text.ts';
import type { StoredPolicies } from '../../policy/stored-policies.ts';

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
