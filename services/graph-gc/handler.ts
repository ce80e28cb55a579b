import {
  type ClusterConclusion,
  clusterCommand,
  clusterDecisionOutputs,
} from '../../packages/decision/cluster-record.ts';
import { type ClosedGate, gateFor } from '../../packages/decision/gate.ts';
import type { DecidedOutputs, Input, PureHandler } from '../../packages/decision/handler.ts';
import type { Ownership } from '../../schemas/events/ownership.ts';
import { approvalsInForce } from '../../schemas/policy/approval.ts';
import type { PolicySetOf } from '../../schemas/policy/policy.ts';
import { DECIDER, decide } from './decide.ts';

/** Decides on each fact about a cluster's owners: the record, and the command where there is something to do. */
export const graphGcHandler =
  (policies: () => PolicySetOf<'cluster'>): PureHandler<Ownership> =>
  (input) =>
    answer(input, policies());

function answer(input: Input<Ownership>, policies: PolicySetOf<'cluster'>): DecidedOutputs {
  const gate = gateFor(policies, input.event);
  const deciding = { decider: DECIDER, input, policies, record: gate.record };
  if (gate.kind === 'closed') return clusterDecisionOutputs(deciding, keeping(input.event, gate), null);
  const { takenAt } = input.event;
  // An approval ends no later than its time, whatever the clock showed.
  const approvals = approvalsInForce(policies.approvals, input.event, takenAt.serverMs + takenAt.spreadMs);
  const decided = decide(input.event, gate.record.policy, approvals);
  const command =
    decided.outcome === 'commanded' ? clusterCommand(deciding, gate.record, decided.items) : null;
  return clusterDecisionOutputs(deciding, decided, command);
}

const keeping = ({ candidates }: Ownership, { outcome, reason, rule }: ClosedGate): ClusterConclusion => ({
  outcome,
  reason,
  verdicts: candidates.map((_, position) => ({ position, action: 'keep', rule, facts: {} })),
});
