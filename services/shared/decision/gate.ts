import type { DecisionOutcome } from '../../../schemas/decision.ts';
import {
  type PolicyRecord,
  type PolicySet,
  type SelectableNode,
  selectPolicy,
} from '../../../schemas/policy.ts';
import type { Doubt } from './conclusion.ts';
import { OWN_RULES, type OwnRule } from './own-rules.ts';

/** Nothing may be decided for the node, whatever its facts. */
export interface ClosedGate {
  readonly kind: 'closed';
  readonly rule: OwnRule;
  readonly outcome: Extract<DecisionOutcome, 'paused' | 'no-policy' | 'not-believed'>;
  readonly reason: string;
  readonly notBelieved: readonly Doubt[];
  readonly record: PolicyRecord | null;
}

export type Gate = ClosedGate | { readonly kind: 'open'; readonly record: PolicyRecord };

type Profile = PolicyRecord['policy']['profile'];

/**
 * What holds for a node before its facts are looked at: a policy, a pause, or nothing. A decider says which `profiles`
 * it has built; under any other it keeps everything (P8).
 */
export function gateFor(
  policies: PolicySet,
  node: SelectableNode,
  profiles: readonly Profile[] = ['fleetgc'],
): Gate {
  const selection = selectPolicy(policies, node);
  switch (selection.kind) {
    case 'paused':
      return closed('P2', 'paused', `${OWN_RULES.P2}; reason given: ${selection.pause.reason}`);
    case 'none':
      return closed('P1', 'no-policy', OWN_RULES.P1);
    case 'policy':
      return withProfile(selection.record, profiles);
  }
}

function withProfile(record: PolicyRecord, profiles: readonly Profile[]): Gate {
  const { name, profile } = record.policy;
  if (profiles.includes(profile)) return { kind: 'open', record };
  const reason = `${OWN_RULES.P8}; policy ${name} asks for ${profile}`;
  const notBelieved = [{ rule: 'P8', message: reason }];
  return { ...closed('P8', 'not-believed', reason), notBelieved, record };
}

const closed = (rule: OwnRule, outcome: ClosedGate['outcome'], reason: string): ClosedGate => ({
  kind: 'closed',
  rule,
  outcome,
  reason,
  notBelieved: [],
  record: null,
});
