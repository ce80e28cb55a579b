import type { DecisionOutcome } from '../../schemas/events/decision.ts';
import {
  type PolicyRecord,
  type PolicySet,
  type SelectableNode,
  selectPolicy,
} from '../../schemas/policy/policy.ts';
import type { Doubt } from './conclusion.ts';
import { OWN_RULES, type OwnRule } from './own-rules.ts';

/** Nothing may be decided for the node, whatever its facts. */
export interface ClosedGate {
  readonly kind: 'closed';
  readonly rule: OwnRule;
  readonly outcome: Extract<DecisionOutcome, 'paused' | 'no-policy'>;
  readonly reason: string;
  readonly notBelieved: readonly Doubt[];
  readonly record: PolicyRecord | null;
}

type Gate = ClosedGate | { readonly kind: 'open'; readonly record: PolicyRecord };

/** What holds for a node before its facts are looked at: a policy, a pause, or nothing. */
export function gateFor(policies: PolicySet, node: SelectableNode): Gate {
  const selection = selectPolicy(policies, node);
  switch (selection.kind) {
    case 'paused':
      return closed('P2', 'paused', `${OWN_RULES.P2}; reason given: ${selection.pause.reason}`);
    case 'none':
      return closed('P1', 'no-policy', OWN_RULES.P1);
    case 'policy':
      return { kind: 'open', record: selection.record };
  }
}

const closed = (rule: OwnRule, outcome: ClosedGate['outcome'], reason: string): ClosedGate => ({
  kind: 'closed',
  rule,
  outcome,
  reason,
  notBelieved: [],
  record: null,
});
