import type { ClusterAction, ClusterCommandItem } from '../../schemas/events/cluster-command.ts';
import { type ApprovalRecord, approvalsInForce } from '../../schemas/policy/approval.ts';
import type { ClusterPolicy } from '../../schemas/policy/cluster-policy.ts';
import type { PolicySetOf } from '../../schemas/policy/policy.ts';
import {
  type ClusterConclusion,
  type ClusterDeciding,
  clusterCommand,
  clusterDecisionOutputs,
  type DecidableFact,
} from './cluster-record.ts';
import { type ClosedGate, gateFor } from './gate.ts';
import type { DecidedOutputs, Input, PureHandler } from './handler.ts';

/** A conclusion with what is to be done, which becomes a command only if its outcome is `commanded`. */
export interface CommandingConclusion<Act extends ClusterAction = ClusterAction> extends ClusterConclusion {
  readonly items: readonly CommandItem<Act>[];
}

/** An object of a command with what one decider may order about it. */
export type CommandItem<Act extends ClusterAction> = Omit<ClusterCommandItem, 'act'> & { readonly act: Act };

/** What a service brings that decides on facts about clusters; all else is the same for each of them. */
export interface ClusterDecider<Fact extends DecidableFact> {
  readonly decider: ClusterDeciding['decider'];
  /** How many objects of the fact get a verdict. */
  readonly judgedIn: (fact: Fact) => number;
  /** `approvals`: those in force for the cluster. */
  readonly decide: (
    fact: Fact,
    policy: ClusterPolicy,
    approvals: readonly ApprovalRecord[],
  ) => CommandingConclusion;
}

/** A fact in; a decision record out, and the command where there is something to do. */
export const clusterHandler =
  <Fact extends DecidableFact>(by: ClusterDecider<Fact>) =>
  (policies: () => PolicySetOf<'cluster'>): PureHandler<Fact> =>
  (input) =>
    answer(by, input, policies());

function answer<Fact extends DecidableFact>(
  { decider, judgedIn, decide }: ClusterDecider<Fact>,
  input: Input<Fact>,
  policies: PolicySetOf<'cluster'>,
): DecidedOutputs {
  const gate = gateFor(policies, input.event);
  const deciding = { decider, input, policies, record: gate.record };
  if (gate.kind === 'closed')
    return clusterDecisionOutputs(deciding, keeping(judgedIn(input.event), gate), null);
  const { takenAt } = input.event;
  // An approval ends no later than its time, whatever the clock showed.
  const approvals = approvalsInForce(policies.approvals, input.event, takenAt.serverMs + takenAt.spreadMs);
  const decided = decide(input.event, gate.record.policy, approvals);
  const command =
    decided.outcome === 'commanded' ? clusterCommand(deciding, gate.record, decided.items) : null;
  return clusterDecisionOutputs(deciding, decided, command);
}

const keeping = (judged: number, { outcome, reason, rule }: ClosedGate): ClusterConclusion => ({
  outcome,
  reason,
  verdicts: Array.from({ length: judged }, (_, position) => ({ position, action: 'keep', rule, facts: {} })),
});
