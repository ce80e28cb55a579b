import type { DecisionOutcome } from '../../schemas/events/decision.ts';
import type { SubjectKind } from '../../schemas/events/identity.ts';
import type { PolicyRecordOf, PolicySetOf } from '../../schemas/policy/policy.ts';
import { type SelectableSubject, selectPolicy } from '../../schemas/policy/policy-selection.ts';
import type { Doubt } from './conclusion.ts';
import type { DecidedOutputs, PureHandler } from './handler.ts';
import { OWN_RULES } from './own-rules.ts';
import type { DecidableEvent, Deciding } from './record.ts';

type ClosingRule = 'P1' | 'P2' | 'P10';

/** Nothing may be decided for the subject, whatever its facts. */
export interface ClosedGate {
  readonly kind: 'closed';
  readonly rule: ClosingRule;
  readonly outcome: Extract<DecisionOutcome, 'paused' | 'no-policy' | 'too-costly'>;
  readonly reason: string;
  readonly notBelieved: readonly Doubt[];
  readonly record: null;
}

type Gate<Kind extends SubjectKind> =
  | ClosedGate
  | { readonly kind: 'open'; readonly record: PolicyRecordOf<Kind> };

/** Why everything is kept where no policy selects a subject. */
const NO_POLICY: Readonly<Record<SubjectKind, string>> = {
  node: OWN_RULES.P1,
  cluster: 'no policy selects this cluster: everything is kept',
};

/** What holds for a subject before its facts are looked at: a policy, a pause, or nothing. */
export function gateFor<Kind extends SubjectKind>(
  policies: PolicySetOf<Kind>,
  subject: SelectableSubject<Kind>,
): Gate<Kind> {
  const selection = selectPolicy(policies, subject);
  switch (selection.kind) {
    case 'paused':
      return closed('P2', 'paused', `${OWN_RULES.P2}; reason given: ${selection.pause.reason}`);
    case 'none':
      return closed('P1', 'no-policy', NO_POLICY[policies.subject]);
    case 'too-costly':
      return closed('P10', 'too-costly', OWN_RULES.P10);
    case 'policy':
      return { kind: 'open', record: selection.record };
  }
}

const closed = (rule: ClosingRule, outcome: ClosedGate['outcome'], reason: string): ClosedGate => ({
  kind: 'closed',
  rule,
  outcome,
  reason,
  notBelieved: [],
  record: null,
});

/** What a decider answers once it is known whether anything may be decided for the subject. */
interface Answers<Kind extends SubjectKind, Event extends DecidableEvent<Kind>> {
  readonly decider: Deciding<Kind>['decider'];
  readonly closed: (deciding: Deciding<Kind, Event>, gate: ClosedGate) => DecidedOutputs;
  /** `record` is the policy in force, of these policies. */
  readonly open: (
    deciding: Deciding<Kind, Event>,
    record: PolicyRecordOf<Kind>,
    policies: PolicySetOf<Kind>,
  ) => DecidedOutputs;
}

/** An event in; a decision record out, and what follows from it, if anything does. */
export const gatedHandler =
  <Kind extends SubjectKind, Event extends DecidableEvent<Kind> & SelectableSubject<Kind>>({
    decider,
    closed,
    open,
  }: Answers<Kind, Event>) =>
  (currentPolicies: () => PolicySetOf<Kind>): PureHandler<Event> =>
  (input) => {
    const policies = currentPolicies();
    const gate = gateFor(policies, input.event);
    const deciding = { decider, input, policies, record: gate.record };
    return gate.kind === 'closed' ? closed(deciding, gate) : open(deciding, gate.record, policies);
  };
