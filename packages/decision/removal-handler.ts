import type { Decision } from '../../schemas/events/decision.ts';
import type { Inventory } from '../../schemas/events/inventory.ts';
import { kindsOf, type RemovalKind } from '../../schemas/events/object-kinds.ts';
import type { Policy, PolicyRecord, PolicySet } from '../../schemas/policy/policy.ts';
import { type Conclusion, keepAll } from './conclusion.ts';
import { type ClosedGate, gateFor } from './gate.ts';
import type { DecidedOutputs, Input, PureHandler } from './handler.ts';
import { type Deciding, decisionOutputs, type FollowUp } from './record.ts';

/** What a service brings that decides on removals; all else is the same for each of them. */
interface RemovalDecider<Decided extends Conclusion> {
  readonly decider: Decision['decider'];
  /** Its kinds of object are the ones it gives a verdict on. */
  readonly removal: RemovalKind;
  readonly decide: (event: Inventory, policy: Policy) => Decided;
  /** At most one, so that a reclaim goes on or ends once. */
  readonly followUpOf: (
    deciding: Deciding<Inventory>,
    record: PolicyRecord,
    decided: Decided,
  ) => FollowUp | null;
}

/** An inventory in; a decision record out, and what follows from it, if anything does. */
export const removalHandler =
  <Decided extends Conclusion>(by: RemovalDecider<Decided>) =>
  (policies: () => PolicySet): PureHandler<Inventory> =>
  (input) =>
    answer(by, input, policies());

function answer<Decided extends Conclusion>(
  { decider, removal, decide, followUpOf }: RemovalDecider<Decided>,
  input: Input<Inventory>,
  policies: PolicySet,
): DecidedOutputs {
  const gate = gateFor(policies, input.event);
  const deciding = { decider, input, policies, record: gate.record };
  if (gate.kind === 'closed') return decisionOutputs(deciding, keeping(input.event, removal, gate), null);
  const decided = decide(input.event, gate.record.policy);
  return decisionOutputs(deciding, decided, followUpOf(deciding, gate.record, decided));
}

function keeping(event: Inventory, removal: RemovalKind, { rule, ...gate }: ClosedGate): Conclusion {
  const verdicts = event.status === 'complete' ? keepAll(event, kindsOf(removal), { rule, facts: {} }) : [];
  return { ...gate, verdicts, estimatedBytes: 0, reclaim: event.reclaim };
}
