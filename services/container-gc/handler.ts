import { type Conclusion, keepAll } from '../../packages/decision/conclusion.ts';
import {
  commandHeader,
  type Deciding,
  decisionOutputs,
  type FollowUp,
  observeOrder,
  pressureUnrelieved,
} from '../../packages/decision/decision-record.ts';
import { type ClosedGate, gateFor } from '../../packages/decision/gate.ts';
import { type Input, nodeOutput, type Outputs, type PureHandler } from '../../packages/decision/handler.ts';
import type { ContainerRemoval } from '../../schemas/events/command.ts';
import type { Inventory } from '../../schemas/events/inventory.ts';
import { kindsOf } from '../../schemas/events/object-kinds.ts';
import type { PolicyRecord, PolicySet } from '../../schemas/policy/policy.ts';
import { type ContainerConclusion, DECIDER, decide } from './decide.ts';

/**
 * An inventory in; a decision record out, and after it at most one more: the command to remove containers, sandboxes and
 * logs, or the order to go on to a reclaim's next action, or the fact that a reclaim ended above its target.
 */
export const containerGcHandler =
  (policies: () => PolicySet): PureHandler<Inventory> =>
  (input) =>
    answer(input, policies());

function answer(input: Input<Inventory>, policies: PolicySet): Outputs {
  const gate = gateFor(policies, input.event);
  const deciding = { decider: DECIDER, input, policies, record: gate.record };
  if (gate.kind === 'closed') return decisionOutputs(deciding, keeping(input.event, gate), null);
  const conclusion = decide(input.event, gate.record.policy);
  return decisionOutputs(deciding, conclusion, followUpOf(deciding, gate.record, conclusion));
}

function keeping(event: Inventory, { rule, ...gate }: ClosedGate): Conclusion {
  const verdicts =
    event.status === 'complete' ? keepAll(event, kindsOf('container-removal'), { rule, facts: {} }) : [];
  return { ...gate, verdicts, estimatedBytes: 0, reclaim: event.reclaim };
}

/** At most one, so that a reclaim goes on or ends once. */
function followUpOf(
  deciding: Deciding<Inventory>,
  record: PolicyRecord,
  conclusion: ContainerConclusion,
): FollowUp | null {
  const { outcome, goesOnAt, reclaim, unrelievedAt } = conclusion;
  if (outcome === 'commanded') return nodeOutput('commands', containerRemoval(deciding, record, conclusion));
  if (goesOnAt !== null) return nodeOutput('observe', observeOrder(deciding, goesOnAt));
  if (reclaim === null || unrelievedAt === null) return null;
  const ending = { reclaim, availableNow: unrelievedAt, holders: [] };
  return nodeOutput('decisions', pressureUnrelieved(deciding, ending));
}

const containerRemoval = (
  deciding: Deciding<Inventory>,
  record: PolicyRecord,
  { items, reclaim }: ContainerConclusion,
): ContainerRemoval => ({
  ...commandHeader(deciding, record),
  reclaim,
  kind: 'container-removal',
  items: [...items],
});
