import { type Conclusion, keepAll } from '../../packages/decision/conclusion.ts';
import {
  commandHeader,
  type Deciding,
  decisionOutputs,
  type FollowUp,
  pressureUnrelieved,
} from '../../packages/decision/decision-record.ts';
import { type ClosedGate, gateFor } from '../../packages/decision/gate.ts';
import { type Input, nodeOutput, type Outputs, type PureHandler } from '../../packages/decision/handler.ts';
import type { ImageRemoval } from '../../schemas/events/command.ts';
import type { Inventory } from '../../schemas/events/inventory.ts';
import { kindsOf } from '../../schemas/events/object-kinds.ts';
import type { PolicyRecord, PolicySet } from '../../schemas/policy/policy.ts';
import { DECIDER, decide, type ImageConclusion } from './decide.ts';

/**
 * An inventory in; a decision record out, and after it a command to remove images, or the fact that a reclaim ended
 * above its target.
 */
export const imageGcHandler =
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
    event.status === 'complete' ? keepAll(event, kindsOf('image-removal'), { rule, facts: {} }) : [];
  return { ...gate, verdicts, estimatedBytes: 0, reclaim: event.reclaim };
}

function followUpOf(
  deciding: Deciding<Inventory>,
  record: PolicyRecord,
  conclusion: ImageConclusion,
): FollowUp | null {
  const { outcome, reclaim, unrelievedAt, holders } = conclusion;
  if (outcome === 'commanded') return nodeOutput('commands', imageRemoval(deciding, record, conclusion));
  if (reclaim === null || unrelievedAt === null) return null;
  const ending = { reclaim, availableNow: unrelievedAt, holders: [...holders] };
  return nodeOutput('decisions', pressureUnrelieved(deciding, ending));
}

const imageRemoval = (
  deciding: Deciding<Inventory>,
  record: PolicyRecord,
  { items, holders, reclaim }: ImageConclusion,
): ImageRemoval => ({
  ...commandHeader(deciding, record),
  kind: 'image-removal',
  reclaim,
  holders: [...holders],
  items: [...items],
});
